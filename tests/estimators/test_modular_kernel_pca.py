from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import polyfold as pf
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import Gaussian, KernelColumns
from polyfold.metrics import modular_loss
from tests.oracles.modular import centred


def model(**parameters):
    settings = {"n_modules": 4, "n_components": 3, "diversity": 0.9, "random_state": 0}
    return pf.ModularKernelPCA(**{**settings, **parameters})


@pytest.mark.parametrize("solver", ["closed", "mbm", "adam"])
def test_reported_loss_is_the_loss_of_the_modules(solver, blobs):
    fitted = model(kernel=Gaussian(0.1), solver=solver, max_iter=2000).fit(blobs)
    K = centred(rbf_kernel(blobs, gamma=0.1))
    assert modular_loss(fitted.transform_modules(blobs), K, 0.9) == pytest.approx(fitted.loss_, rel=1e-7)
    assert fitted.loss_bound_ <= fitted.loss_ * (1 + 1e-12)


@pytest.mark.parametrize("solver", ["mbm", "adam", "sgd", "drop-module"])
def test_no_solver_beats_the_closed_form(solver, blobs):
    closed = model().fit(blobs)
    other = model(solver=solver, max_iter=300 if solver in ("mbm", "adam") else 40, tol=0)
    with pytest.warns(ConvergenceWarning, match=f"solver='{solver}' stopped after max_iter="):
        other.fit(blobs)
    assert closed.loss_ <= other.loss_ * (1 + 1e-7)
    assert len(other.loss_curve_) == other.n_iter_
    assert other.loss_ < 0.99 * other.loss_curve_[0] or solver == "mbm"


def test_one_module_without_diversity_is_kernel_pca(blobs):
    ours = pf.ModularKernelPCA(1, 3, diversity=0, kernel=Gaussian(0.1)).fit_transform(blobs)
    reference = KernelPCA(3, kernel="rbf", gamma=0.1, eigen_solver="dense").fit_transform(blobs)
    np.testing.assert_allclose(np.abs(ours), np.abs(reference), atol=1e-8)


def test_composite_approaches_the_kernel_with_diversity(blobs):
    K = centred(rbf_kernel(blobs, gamma=0.1))
    errors = []
    for diversity in (0.0, 0.9, 1.0):
        Z = model(kernel=Gaussian(0.1), diversity=diversity).fit_transform(blobs)
        errors.append(np.linalg.norm(Z @ Z.T / 4 - K))
    assert errors[0] > errors[1] > errors[2]


def test_chunks_give_the_modules_of_the_whole(blobs):
    given = KernelColumns(Gaussian(0.1).resolve(blobs), blobs[::3])
    whole, parts = model(feature_map=given).fit(blobs), model(feature_map=given)
    for chunk in np.array_split(blobs, 4):
        parts.partial_fit(chunk)
    np.testing.assert_allclose(parts.transform(blobs), whole.transform(blobs), atol=1e-6)
    assert parts.loss_ == pytest.approx(whole.loss_)


def test_exact_chunks_need_no_landmarks(blobs):
    whole, parts = model(kernel=Gaussian(0.1)).fit(blobs), model(kernel=Gaussian(0.1))
    for chunk in np.array_split(blobs, 3):
        parts.partial_fit(chunk)
    np.testing.assert_allclose(parts.transform(blobs), whole.transform(blobs), atol=1e-8)


def test_block_size_does_not_matter(blobs, monkeypatch):
    settings = {"feature_map": "nystroem", "rank": 30}
    whole = model(**settings).fit(blobs).transform(blobs)
    monkeypatch.setattr("polyfold._linalg.BLOCK_BYTES", 1)
    np.testing.assert_allclose(model(**settings).fit(blobs).transform(blobs), whole, atol=1e-6)


def test_remix_is_a_fit_with_other_parameters(blobs):
    first = model().fit(blobs)
    for change in ({"diversity": 0.5}, {"n_modules": 6}, {"n_components": 2, "diversity": 0.99}):
        remixed, fitted = first.remix(**change), model(**change).fit(blobs)
        np.testing.assert_allclose(remixed.transform(blobs), fitted.transform(blobs), atol=1e-8)
        assert remixed.get_params() == fitted.get_params()
    assert first.diversity == 0.9


def test_diversity_path_is_monotone_in_its_two_terms(blobs):
    path = model().fit(blobs).diversity_path([0, 0.5, 0.9, 0.99])
    assert [m.diversity for m in path] == [0, 0.5, 0.9, 0.99]
    losses = [m.loss_ for m in path]
    assert all(a >= b for a, b in pairwise(losses))


def test_remix_continues_to_learn_on_its_own(blobs):
    first = model(kernel=Gaussian(0.1)).partial_fit(blobs[:60])
    second = first.remix(diversity=0.5)
    before = first.transform(blobs)
    second.partial_fit(blobs[60:])
    assert second.spectrum_.n_samples == 90
    np.testing.assert_array_equal(first.transform(blobs), before)
    first.partial_fit(blobs[60:])
    assert first.spectrum_.n_samples == 90


@pytest.mark.parametrize("kernel", ["laplacian_eigenmaps", "ltsa", "isomap", "diffusion"])
def test_remix_beyond_the_directions_found_is_refused(kernel, blobs):
    X = np.random.default_rng(0).uniform(size=(150, 2))
    fitted = model(kernel=kernel, n_modules=3, n_components=2).fit(X)
    with pytest.raises(ValueError, match=r"n_modules \* n_components must be <= 6, .* got 20; fit with the new param"):
        fitted.remix(n_modules=10)
    fewer = fitted.remix(n_modules=2)
    assert fewer.components_.shape == (2, 2, 4)
    assert fewer.remix(n_modules=3).components_.shape == (3, 2, 6)


def test_remix_of_all_directions_there_are_is_not_refused(blobs):
    fitted = model(kernel="isomap", n_modules=20, n_components=20).fit(blobs[:40])
    assert fitted.spectrum_.rank < 40
    assert fitted.remix(diversity=0.5, n_modules=30).components_.shape[2] == fitted.spectrum_.rank


def test_remix_of_a_graph_kernel_of_small_rank_keeps_it(blobs):
    fitted = model(kernel="isomap", rank=4).fit(blobs[:40])
    assert fitted.remix(diversity=0.5).components_.shape == (4, 3, 4)


def test_remix_beyond_a_given_rank_is_what_a_fit_would_be(blobs):
    fitted = model(rank=5, n_modules=2, n_components=2).fit(blobs)
    remixed, fresh = fitted.remix(n_modules=5), model(rank=5, n_modules=5, n_components=2).fit(blobs)
    assert remixed.components_.shape == (5, 2, 5)
    np.testing.assert_allclose(remixed.transform(blobs), fresh.transform(blobs), atol=1e-8)


def test_partial_fit_goes_on_from_fit(blobs):
    model_, whole = model(kernel=Gaussian(0.1)).fit(blobs[:50]), model(kernel=Gaussian(0.1)).fit(blobs)
    assert model_.partial_fit(blobs[50:]).spectrum_.n_samples == 90
    np.testing.assert_allclose(model_.transform(blobs), whole.transform(blobs), atol=1e-8)


def test_unfitted_model_cannot_be_remixed():
    with pytest.raises(NotFittedError):
        model().remix(diversity=0.5)


@pytest.mark.parametrize("solver", ["sgd", "drop-module"])
def test_solvers_on_data_cannot_remix_or_take_chunks(solver, blobs):
    with pytest.warns(ConvergenceWarning):
        fitted = model(solver=solver, max_iter=2).fit(blobs)
    with pytest.raises(ValueError, match="remix needs a solver that works on the spectrum alone"):
        fitted.remix(diversity=0.5)
    assert not hasattr(fitted, "partial_fit")


@pytest.mark.parametrize("diversity", [-0.1, 1.1, np.nan, 3])
def test_diversity_outside_its_bounds_names_the_theorem(diversity, blobs):
    with pytest.raises(ValueError, match=r"diversity must be a number >= 0 and <= 1, got .*Theorem 1"):
        model(diversity=diversity).fit(blobs)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_modules": 0}, "n_modules must be an integer >= 1, got 0"),
        ({"n_components": 0}, "n_components must be an integer >= 1, got 0"),
        ({"rank": 0}, "rank must be an integer >= 1, got 0"),
        ({"solver": "newton"}, "solver must be one of 'closed'.*got 'newton'"),
        ({"feature_map": "fast"}, "feature_map must be one of 'auto'.*got 'fast'"),
        ({"kernel": "rfb"}, "kernel must be one of 'rbf'.*got 'rfb'"),
        ({"kernel": Gaussian(gamma=-1.0)}, "gamma must be a number > 0, got -1.0"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1, got 0"),
        ({"tol": -1.0}, "tol must be a number >= 0, got -1.0"),
        ({"solver": "drop-module", "diversity": 0}, "diversity must be > 0 with solver='drop-module', got 0"),
        (
            {"kernel": "precomputed", "feature_map": "nystroem"},
            "feature_map must be 'auto' or 'exact' with kernel='pre",
        ),
    ],
)
def test_bad_parameters_are_named(parameters, message, blobs):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(blobs)


def test_more_dimensions_than_the_rank_share_directions(rng):
    X = rng.standard_normal((40, 3))
    fitted = model(kernel="linear", n_modules=5, n_components=2).fit(X)
    assert fitted.components_.shape == (5, 2, 3)
    assert fitted.loss_ == pytest.approx(fitted.loss_bound_, rel=1e-6)


def test_fewer_directions_than_one_module_warn_and_pad(rng):
    X = rng.standard_normal((40, 2))
    with pytest.warns(DegenerateDataWarning, match="n_components=3 is more than the 2 directions"):
        Z = model(kernel="linear").fit(X).transform_modules(X)
    np.testing.assert_array_equal(Z[:, :, 2], 0)


def test_sparse_data_are_not_made_dense(rng):
    X = sp.random(60, 5000, density=0.01, random_state=rng, format="csr")
    Z = model(kernel="cosine").fit_transform(X)
    np.testing.assert_allclose(Z, model(kernel="cosine").fit_transform(X.toarray()), atol=1e-8)


def test_precomputed_kernel_and_its_new_rows(blobs):
    K = rbf_kernel(blobs, gamma=0.1)
    given, own = model(kernel="precomputed").fit(K), model(kernel=Gaussian(0.1)).fit(blobs)
    np.testing.assert_allclose(given.transform(K[:7]), own.transform(blobs[:7]), atol=1e-8)
    assert given.__sklearn_tags__().input_tags.pairwise
    assert not hasattr(given, "partial_fit")


def test_callable_kernel(blobs):
    given = model(kernel=lambda X, Y: rbf_kernel(X, Y, gamma=0.1)).fit(blobs)
    np.testing.assert_allclose(given.transform(blobs), model(kernel=Gaussian(0.1)).fit_transform(blobs), atol=1e-8)


def test_kernel_parameters_are_searchable():
    estimator = model(kernel=Gaussian(0.1)).set_params(kernel__gamma=0.5)
    assert estimator.kernel.gamma == 0.5


def interrupt(*_, **__):
    raise KeyboardInterrupt


STEPS = ["polyfold.kernels.Gaussian.__call__", "polyfold.estimators._modules.score_solution"]


@pytest.mark.parametrize("step", STEPS)
def test_interrupting_a_fit_leaves_the_old_model(step, blobs, monkeypatch):
    fitted = model().fit(blobs)
    before = fitted.transform(blobs)
    with monkeypatch.context() as patch:
        patch.setattr(step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            fitted.fit(2 * blobs + 1)
    np.testing.assert_array_equal(fitted.transform(blobs), before)
    assert fitted.partial_fit(blobs[:10]).spectrum_.n_samples == 100


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_after_an_interrupted_first_fit_the_model_is_not_fitted(step, method, blobs, monkeypatch):
    first = model()
    with monkeypatch.context() as patch:
        patch.setattr(step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            getattr(first, method)(blobs)
    for use in (first.transform, first.transform_modules, lambda _: first.remix(diversity=0.5)):
        with pytest.raises(NotFittedError):
            use(blobs)
    assert first.partial_fit(blobs[:50]).spectrum_.n_samples == 50


def test_an_interrupted_chunk_is_not_counted(blobs, monkeypatch):
    fitted = model(kernel=Gaussian(0.1)).partial_fit(blobs[:50])
    with monkeypatch.context() as patch:
        patch.setattr(STEPS[1], interrupt)
        with pytest.raises(KeyboardInterrupt):
            fitted.partial_fit(blobs[50:])
    assert fitted.partial_fit(blobs[50:]).spectrum_.n_samples == 90


def test_modules_are_a_view_of_the_representation(blobs):
    modules = model().fit(blobs).transform_modules(blobs)
    assert modules.shape == (4, 90, 3)
    assert modules.transpose(1, 0, 2).flags.c_contiguous


def test_modules_come_as_arrays_whatever_transform_returns(blobs):
    pytest.importorskip("pandas")
    fitted = model().fit(blobs).set_output(transform="pandas")
    np.testing.assert_array_equal(fitted.transform_modules(blobs), model().fit(blobs).transform_modules(blobs))


@pytest.mark.parametrize("power", [-200, 200])
def test_modules_of_the_linear_kernel_do_not_depend_on_the_scale(power, blobs):
    plain, scaled = (model(kernel="linear", n_components=1).fit(X) for X in (blobs, np.ldexp(blobs, power)))
    codes = np.ldexp(scaled.transform(np.ldexp(blobs, power)), -power)
    np.testing.assert_allclose(codes, plain.transform(blobs), atol=1e-9)
    assert scaled.loss_gap_ == pytest.approx(plain.loss_gap_, abs=1e-9)


def test_modules_follow_small_changes_of_the_data():
    X = load_digits().data[:300]
    rng = np.random.RandomState(0)
    model = pf.ModularKernelPCA(5, 4, diversity=0.9, random_state=0)
    before = model.fit_transform(X)
    after = model.fit_transform(X + 1e-8 * X.std() * rng.standard_normal(X.shape))
    assert np.abs(after - before).max() <= 1e-4 * np.abs(before).max()
