"""What every estimator on a spectrum promises about its data: rows that away from tidy doubles gave wrong answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_swiss_roll
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

import polyfold as pf
from polyfold import kernels
from polyfold.exceptions import DegenerateDataWarning
from tests.oracles.modular import centred

POINTWISE = ["rbf", "laplacian", "linear", "poly", "cosine"]


def same_up_to_sign(A, B, atol):
    signs = np.sign(np.sum(A * B, axis=0))
    np.testing.assert_allclose(A * signs, B, atol=atol)


@pytest.fixture(name="X")
def iris():
    return load_iris().data


@pytest.mark.filterwarnings("ignore:n_components=:polyfold.exceptions.DegenerateDataWarning")
@pytest.mark.parametrize("data", [load_iris, load_wine, load_breast_cancer])
def test_coordinates_of_an_exact_kernel_reproduce_it_to_the_last_direction(data):
    X = data().data
    model = pf.KernelEmbedding(len(X) - 1, random_state=0).fit(X)
    Z, K = model.transform(X), centred(model.spectrum_.features.kernel.matrix(X))
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-9)


@pytest.mark.parametrize("kernel", POINTWISE)
def test_sparse_single_precision_beyond_the_exact_limit(kernel):
    X = sp.random(300, 40, density=0.2, format="csr", dtype=np.float32, random_state=0)
    model = pf.KernelEmbedding(3, kernel=kernel, rank=60, random_state=0).fit(X)
    single, double = model.transform(X), model.transform(X.astype(np.float64))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=2e-3 * np.abs(double).max())


def test_a_chunk_counts_as_it_was_when_it_came(X):
    model, buffer = pf.ModularKernelPCA(3, 2, random_state=0), np.empty((30, 4))
    for part in np.split(X, 5):
        buffer[:] = part
        model.partial_fit(buffer)
    whole = pf.ModularKernelPCA(3, 2, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), whole.transform(X), atol=1e-9)


def test_dense_and_sparse_chunks_mix(X):
    mixed = pf.KernelEmbedding(2, random_state=0).partial_fit(X[:70]).partial_fit(sp.csr_array(X[70:]))
    np.testing.assert_allclose(mixed.transform(X), pf.KernelEmbedding(2, random_state=0).fit_transform(X), atol=1e-9)


def test_a_chunk_that_fails_is_not_counted(X):
    model = pf.KernelEmbedding(2, kernel=kernels.Polynomial(degree=9)).partial_fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError, match="kernel must have finite values"):
        model.partial_fit(X * 1e60)
    np.testing.assert_array_equal(model.transform(X), before)
    np.testing.assert_allclose(model.partial_fit(X[:10]).spectrum_.n_samples, 160)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian_eigenmaps", "ltsa", "isomap"])
def test_overwriting_the_data_after_the_fit_changes_nothing(kernel):
    X = make_swiss_roll(120, random_state=0)[0]
    mine = X.copy()
    model = pf.KernelEmbedding(2, kernel=kernel, random_state=0).fit(mine)
    before = model.transform(X[:20] + 0.01)
    mine[:] = 7
    np.testing.assert_array_equal(model.transform(X[:20] + 0.01), before)


def test_duplicate_entries_of_a_sparse_matrix_are_summed(X):
    X = np.round(X)
    rows, columns = np.nonzero(X)
    half = X[rows, columns] / 2
    order = np.argsort(np.concatenate([rows, rows]), kind="stable")
    indices, data = np.concatenate([columns, columns])[order], np.concatenate([half, half])[order]
    twice = sp.csr_matrix((data, indices, np.r_[0, np.cumsum(2 * np.count_nonzero(X, axis=1))]), shape=X.shape)
    assert twice.nnz == 2 * len(rows)
    for model in (pf.KernelEmbedding(2, random_state=0), pf.NonRedundantEmbedding(2, kernel="rbf", random_state=0)):
        np.testing.assert_allclose(model.fit_transform(twice), model.fit_transform(X), atol=1e-8)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: np.full((len(A), len(B)), np.nan), "a callable kernel must return finite values, got nan"),
        (lambda A, B: A @ B.T + np.arange(len(A))[:, None], "a callable kernel must be symmetric"),
        (lambda A, B: -(A @ B.T), "a callable kernel must be positive semi-definite, got eigenvalue -"),
    ],
)
@pytest.mark.parametrize("rank", [1000, 20])
def test_callable_kernels_are_checked_as_given_ones_are(X, function, message, rank):
    with pytest.raises(ValueError, match=message):
        pf.KernelEmbedding(2, kernel=function, rank=rank, random_state=0).fit(X)


def test_a_kernel_that_is_constant_to_rounding_is_warned_of(X):
    with pytest.warns(DegenerateDataWarning, match="n_components=2 is more than the 0 directions"):
        Z = pf.KernelEmbedding(2, kernel=kernels.Gaussian(1e-300)).fit_transform(X)
    np.testing.assert_array_equal(Z, 0)


def test_a_sparse_kernel_matrix_is_a_kernel_matrix(X):
    K = kernels.Gaussian(0.5).resolve(X).matrix(X)
    given = pf.KernelEmbedding(2, kernel="precomputed").fit(sp.csr_matrix(K)).transform(sp.csr_array(K))
    np.testing.assert_allclose(given, pf.KernelEmbedding(2, kernel="precomputed").fit_transform(K), atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "isomap", "linear"])
def test_values_whose_squares_overflow_are_named(X, kernel):
    X[3, 1] = 1e200
    with pytest.raises(ValueError, match=r"X must have magnitudes <= .* got 1e\+200; remove outliers"):
        pf.KernelEmbedding(2, kernel=kernel).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"feature_map": 3}, "feature_map must be one of 'auto', 'exact', 'nystroem', 'fourier' or features"),
        ({"kernel": kernels.Gaussian}, r"kernel must be an object, got the class Gaussian; pass Gaussian\(\)"),
    ],
)
def test_things_of_the_wrong_kind_are_named(X, parameters, message):
    with pytest.raises(TypeError, match=message):
        pf.KernelEmbedding(2, **parameters).fit(X)


@pytest.mark.parametrize("scale", [1e-9, 1e-12, 2.0**-200, 2.0**200])
@pytest.mark.parametrize("kernel", ["isomap", "linear", "rbf", "laplacian_eigenmaps", "lle", "ltsa", "diffusion"])
def test_coordinates_follow_the_unit_or_do_not_have_one(kernel, scale):
    X = make_swiss_roll(200, random_state=0)[0]
    plain, scaled = (pf.KernelEmbedding(3, kernel=kernel, random_state=0).fit_transform(c * X) for c in (1.0, scale))
    unit = scale if kernel in ("isomap", "linear") else 1.0
    np.testing.assert_allclose(scaled / unit, plain, atol=1e-6 * np.abs(plain).max())


@pytest.mark.parametrize("kernel", ["isomap", "linear", "rbf", "laplacian", "laplacian_eigenmaps", "lle", "diffusion"])
@pytest.mark.parametrize("feature_map", ["auto", "nystroem"])
def test_coordinates_do_not_depend_on_the_origin(kernel, feature_map):
    X = make_swiss_roll(200, random_state=0)[0]
    model = pf.KernelEmbedding(3, kernel=kernel, feature_map=feature_map, rank=50, random_state=0)
    same_up_to_sign(model.fit_transform(X + 1e6), model.fit_transform(X), 1e-4)


def test_fourier_features_do_not_depend_on_the_origin_either(X):
    model = pf.KernelEmbedding(3, feature_map="fourier", rank=50, random_state=0)
    same_up_to_sign(model.fit_transform(X + 1e4), model.fit_transform(X), 1e-6)


@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"kernel": "rbf"}, {"feature_map": "fourier"}], ids=repr)
def test_rows_of_single_precision_far_from_the_origin_lose_no_digits(options, rng):
    X = (rng.standard_normal((80, 4)) + 1e6).astype(np.float32).astype(np.float64)
    model = pf.KernelEmbedding(2, rank=20, random_state=0, **options).fit(X)
    expected = model.transform(X)
    np.testing.assert_allclose(model.transform(X.astype(np.float32)), expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("feature_map", ["auto", "exact", "nystroem"])
@pytest.mark.parametrize(("dtype", "offset"), [(np.float64, 1e7), (np.float32, 1e3)])
def test_the_linear_kernel_of_wide_data_does_not_depend_on_the_origin(feature_map, dtype, offset):
    X = np.random.RandomState(0).standard_normal((60, 150)).astype(dtype)
    model = pf.KernelEmbedding(2, kernel="linear", feature_map=feature_map, rank=40, random_state=0)
    near, far = (Z @ Z.T for Z in (model.fit_transform(X), model.fit_transform(X + dtype(offset))))
    np.testing.assert_allclose(far, near, atol=1e-3 * np.abs(near).max())


@pytest.mark.parametrize("change", [{"kernel": "linear"}, {"kernel__gamma": 2.0}, {"rank": 7}])
def test_chunks_of_another_kernel_are_refused(X, change):
    model = pf.KernelEmbedding(2, kernel=kernels.Gaussian(1.0)).fit(X[:80])
    with pytest.raises(ValueError, match=r"(kernel|rank) must be that of the rows fitted so far, .*call fit"):
        model.set_params(**change).partial_fit(X[80:])


def test_a_fitted_embedding_keeps_its_columns_whatever_is_set_later(X):
    model = pf.KernelEmbedding(2).fit(X).set_params(n_components=4)
    assert model.transform(X).shape == (150, len(model.get_feature_names_out()))


@pytest.mark.parametrize("kernel", [kernels.LaplacianEigenmaps, kernels.DiffusionMaps, kernels.Isomap])
def test_a_given_graph_serves_new_points_with_what_it_holds(kernel):
    X = np.random.RandomState(0).rand(90, 3)
    embedding = pf.KernelEmbedding(2, kernel=kernel(10, neighbors="precomputed"))
    model = make_pipeline(KNeighborsTransformer(n_neighbors=20), embedding).fit(X)
    assert np.isfinite(model.transform(X[:5] + 0.01)).all()


class Neighborless(kernels.GraphKernel):
    """A user's kernel: an operator without a neighbour graph."""

    def operator_on(self, X):
        return kernels.feature_operator(X, lambda new: new)


@pytest.mark.parametrize("model", [pf.KernelEmbedding(2), pf.ModularKernelPCA(2, 2), pf.NonRedundantEmbedding(2)])
def test_a_graph_kernel_needs_no_neighbour_graph(X, model):
    model.set_params(kernel=Neighborless(), random_state=0).fit(X)
    assert np.isnan(model.neighbor_recall_)
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", ["laplacian_eigenmaps", "diffusion", "isomap", "lle"])
def test_fit_transform_of_a_graph_searches_neighbours_once(kernel, dtype, monkeypatch):
    X = make_swiss_roll(200, random_state=0)[0].astype(dtype)
    model = pf.KernelEmbedding(2, kernel=kernel, random_state=0)
    expected = model.fit(X).transform(X)
    monkeypatch.setattr("polyfold.neighbors.Neighborhoods.query", None)
    Z = model.fit_transform(X)
    assert Z.dtype == dtype
    np.testing.assert_array_equal(Z, expected)


def test_fit_transform_of_repeated_rows_is_that_of_transform():
    X = np.repeat(make_swiss_roll(100, random_state=0)[0], 2, axis=0)
    model = pf.KernelEmbedding(2, kernel="laplacian_eigenmaps", random_state=0)
    np.testing.assert_array_equal(model.fit_transform(X), model.transform(X))
