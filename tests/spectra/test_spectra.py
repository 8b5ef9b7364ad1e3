import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA, KernelPCA

from polyfold.kernels import Gaussian, KernelColumns, Linear, Precomputed
from polyfold.spectra import SpectrumBuilder, choose_feature_map
from tests.oracles.modular import centred


def build(X, kernel, feature_map="auto", rank=1000):
    return SpectrumBuilder(kernel, feature_map, rank, rank, seed=0).add(X).spectrum()


def test_exact_coordinates_reproduce_the_centred_kernel(blobs):
    spectrum = build(blobs, Gaussian(0.1), "exact")
    C = spectrum.coordinates(blobs)
    np.testing.assert_allclose(C @ C.T, centred(Gaussian(0.1).resolve(blobs)(blobs, blobs)), atol=1e-9)
    np.testing.assert_allclose(C.T @ C, np.diag(spectrum.eigenvalues), atol=1e-8)


def test_new_points_are_those_of_kernel_pca(blobs, rng):
    new = rng.standard_normal((7, 5))
    spectrum = build(blobs, Gaussian(0.1), "exact")
    reference = KernelPCA(3, kernel="rbf", gamma=0.1, eigen_solver="dense").fit(blobs)
    np.testing.assert_allclose(np.abs(spectrum.coordinates(new)[:, :3]), np.abs(reference.transform(new)), atol=1e-8)


def test_linear_kernel_is_pca(blobs):
    spectrum = build(blobs, Linear())
    reference = PCA(5).fit(blobs)
    np.testing.assert_allclose(spectrum.eigenvalues, reference.singular_values_**2)
    np.testing.assert_allclose(np.abs(spectrum.coordinates(blobs)), np.abs(reference.transform(blobs)), atol=1e-9)


def test_nystroem_with_all_landmarks_is_exact(blobs):
    exact, nystroem = build(blobs, Gaussian(0.1), "exact"), build(blobs, Gaussian(0.1), "nystroem", rank=90)
    np.testing.assert_allclose(nystroem.eigenvalues[:30], exact.eigenvalues[:30], rtol=1e-6)
    assert nystroem.energy == pytest.approx(exact.energy)


@pytest.mark.parametrize("chunks", [2, 7, 45])
@pytest.mark.parametrize("feature_map", ["exact", "fourier", "landmarks", "linear"])
def test_chunks_give_the_spectrum_of_the_whole(feature_map, chunks, blobs):
    kernel = Linear() if feature_map == "linear" else Gaussian(0.1)
    given = {"landmarks": KernelColumns(kernel.resolve(blobs), blobs[::4]), "linear": "auto"}.get(
        feature_map, feature_map
    )
    whole = SpectrumBuilder(kernel, given, 30, 30, seed=3).add(blobs).spectrum()
    builder = SpectrumBuilder(kernel, given, 30, 30, seed=3)
    for part in np.array_split(blobs, chunks):
        builder.add(part)
    parts = builder.spectrum()
    np.testing.assert_allclose(parts.eigenvalues[:15], whole.eigenvalues[:15], rtol=1e-8)
    k = min(5, whole.rank)
    np.testing.assert_allclose(parts.coordinates(blobs)[:, :k], whole.coordinates(blobs)[:, :k], atol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear()])
def test_sparse_and_dense_agree(kernel, rng):
    X = sp.random(80, 30, density=0.2, random_state=rng, format="csr")
    np.testing.assert_allclose(
        build(X, kernel).coordinates(X), build(X.toarray(), kernel).coordinates(X.toarray()), atol=1e-8
    )


@pytest.mark.parametrize("feature_map", ["exact", "nystroem", "fourier"])
def test_single_precision_stays_and_is_near_double(feature_map, blobs):
    single = blobs.astype(np.float32)
    a, b = build(blobs, Gaussian(), feature_map, 60), build(single, Gaussian(), feature_map, 60)
    C = b.coordinates(single)
    assert C.dtype == np.float32
    np.testing.assert_allclose(b.eigenvalues[:10], a.eigenvalues[:10], rtol=1e-4)


def test_constant_data_have_an_empty_spectrum():
    X = np.full((50, 3), 7.0)
    for feature_map in ("exact", "nystroem"):
        assert build(X, Gaussian(1.0), feature_map, 10).rank == 0
    assert build(X, Linear()).rank == 0


def test_linear_data_far_from_the_origin_keep_their_spectrum(blobs):
    near, far = build(blobs, Linear()), build(blobs + 1e5, Linear())
    np.testing.assert_allclose(far.eigenvalues, near.eigenvalues, rtol=1e-6)


def test_precomputed_equals_the_kernel(blobs):
    K = Gaussian(0.1).resolve(blobs)(blobs, blobs)
    a, b = build(K, Precomputed()), build(blobs, Gaussian(0.1), "exact")
    np.testing.assert_allclose(a.coordinates(K[:5])[:, :5], b.coordinates(blobs[:5])[:, :5], atol=1e-8)


def test_precomputed_must_be_square_symmetric_and_positive(rng):
    with pytest.raises(ValueError, match=r"must be square, got shape \(4, 3\)"):
        build(rng.standard_normal((4, 3)), Precomputed())
    with pytest.raises(ValueError, match=r"must be symmetric.*differ from their mirror image by up to"):
        build(rng.standard_normal((4, 4)), Precomputed())
    with pytest.raises(ValueError, match=r"must be positive semi-definite, got eigenvalue -"):
        build(np.diag([1.0, 2.0, -3.0, 1.0]), Precomputed())


def test_automatic_choice_is_exact_where_cheap():
    assert choose_feature_map(Gaussian(), 2000, 50, 1000) == "exact"
    assert choose_feature_map(Gaussian(), 2001, 50, 1000) == "nystroem"
    assert choose_feature_map(Linear(), 5000, 50, 1000) == "identity"
    assert choose_feature_map(Linear(), 5000, 50_000, 1000) == "nystroem"
    assert choose_feature_map(Precomputed(), 5000, 5000, 1000) == "exact"


def test_chunks_beyond_the_exact_limit_choose_landmarks_once(rng):
    X = rng.standard_normal((60, 3))
    builder = SpectrumBuilder(Gaussian(0.5), "auto", 10, 10, seed=0)
    builder.add(X[:15])
    assert builder.features is None
    builder.add(X[15:30])
    assert builder.features is not None
    landmarks = builder.features.landmarks
    builder.add(X[30:])
    assert builder.features.landmarks is landmarks
    assert builder.spectrum().n_samples == 60


def test_a_fit_holds_blocks_and_squares_of_the_rank_only(rng, monkeypatch):
    monkeypatch.setattr("polyfold._linalg.BLOCK_BYTES", 200_000)
    X, rank = rng.standard_normal((20_000, 3)), 200
    tracemalloc.start()
    build(X, Gaussian(0.5), "nystroem", rank)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    features = X.shape[0] * rank * 8
    assert peak < 0.25 * features
