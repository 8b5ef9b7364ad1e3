"""The linear modular autoencoder as an estimator."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from polyfold import ModularAutoencoder, ModularClassifier, ModularNeighbors, select_diversity
from polyfold.baselines import BaggingAutoencoder
from polyfold.exceptions import DegenerateDataWarning
from tests.oracles.autoencoder import autoencoder_loss

TOO_FEW = "ignore:n_components=.* is more than the:polyfold.exceptions.DegenerateDataWarning"


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:500]


def fitted(X, **parameters):
    return ModularAutoencoder(**{"n_modules": 4, "n_components": 3, "random_state": 0, **parameters}).fit(X)


@pytest.mark.parametrize("solver", ["closed", "backfit", "gradient"])
def test_loss_is_that_of_the_paper(digits, solver):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(digits, solver=solver, diversity=0.7, max_iter=30)
    X = (digits - digits.mean(axis=0)).T
    expected = autoencoder_loss(model.decoders_, model.encoders_, X, 0.7)
    assert model.loss_ == pytest.approx(expected, rel=1e-9)
    assert model.loss_ == pytest.approx(model.reconstruction_term_ - 0.7 * model.diversity_term_, rel=1e-9)
    assert model.loss_curve_[-1] == pytest.approx(model.loss_, rel=1e-6)


def test_reconstructions_give_the_loss(digits):
    model = fitted(digits, diversity=0.7)
    parts = model.reconstruct_modules(digits)
    single = np.mean(np.sum((parts - digits) ** 2, axis=2))
    composite = np.mean(np.sum((model.inverse_transform(model.transform(digits)) - digits) ** 2, axis=1))
    assert model.reconstruction_term_ == pytest.approx(single)
    assert model.loss_ == pytest.approx(0.3 * single + 0.7 * composite)
    np.testing.assert_allclose(parts.mean(axis=0), model.inverse_transform(model.transform(digits)), atol=1e-9)


def test_closed_form_is_at_its_bound(digits):
    for diversity in (0.0, 0.3, 0.5, 0.9, 0.99, 1.0):
        model = fitted(digits, n_modules=10, n_components=5, diversity=diversity)
        assert model.loss_bound_ <= model.loss_ * (1 + 1e-12)
        assert model.loss_gap_ < 1e-6


def test_backfitting_does_not_beat_the_closed_form(digits):
    for diversity in (0.3, 0.9):
        closed = fitted(digits, diversity=diversity)
        swept = fitted(digits, diversity=diversity, solver="backfit", tol=1e-10, max_iter=2000)
        assert closed.loss_ <= swept.loss_ * (1 + 1e-10)
        assert swept.loss_ == pytest.approx(closed.loss_, rel=1e-3)


def test_without_diversity_every_module_is_pca(digits):
    model = fitted(digits, diversity=0.0)
    pca = PCA(3).fit(digits)
    for part in model.reconstruct_modules(digits):
        np.testing.assert_allclose(part, pca.inverse_transform(pca.transform(digits)), atol=1e-8)
    assert model.diversity_term_ == pytest.approx(0, abs=1e-9)


def test_full_diversity_is_one_autoencoder_of_all_units(digits):
    model = fitted(digits, diversity=1.0)
    pca = PCA(12).fit(digits)
    whole = model.inverse_transform(model.transform(digits))
    np.testing.assert_allclose(whole, pca.inverse_transform(pca.transform(digits)), atol=1e-6)


def test_diversity_trades_single_against_ensemble_error(digits):
    path = fitted(digits).diversity_path([0.0, 0.3, 0.6, 0.9])
    single = [model.reconstruction_term_ for model in path]
    ensemble = [model.reconstruction_term_ - model.diversity_term_ for model in path]
    assert np.all(np.diff(single) >= -1e-9)
    assert np.all(np.diff(ensemble) <= 1e-9)


def test_modules_stand_side_by_side(digits):
    model = fitted(digits)
    assert model.transform(digits).shape == (500, 12)
    np.testing.assert_array_equal(
        np.concatenate(list(model.transform_modules(digits)), axis=1), model.transform(digits)
    )


@pytest.mark.parametrize("solver", ["closed", "backfit"])
def test_chunks_give_the_same_modules_as_the_whole(digits, solver):
    whole = fitted(digits, solver=solver)
    chunked = ModularAutoencoder(4, 3, solver=solver, random_state=0)
    for part in np.array_split(digits, 7):
        chunked.partial_fit(part)
    assert chunked.loss_ == pytest.approx(whole.loss_, rel=1e-9)
    np.testing.assert_allclose(chunked.reconstruct_modules(digits), whole.reconstruct_modules(digits), atol=1e-5)


def test_fit_forgets_earlier_chunks(digits):
    model = ModularAutoencoder(4, 3, random_state=0).partial_fit(digits[:100] * 9)
    assert model.fit(digits).loss_ == pytest.approx(fitted(digits).loss_)
    assert model.spectrum_.n_samples == 500


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("first", [40, 200])  # fewer and more rows than columns
def test_partial_fit_goes_on_from_fit(digits, first, form):
    model = fitted(form(digits[:first])).partial_fit(form(digits[first:]))
    whole = fitted(digits)
    assert model.spectrum_.n_samples == 500
    assert model.loss_ == pytest.approx(whole.loss_, rel=1e-9)
    np.testing.assert_allclose(model.reconstruct_modules(digits), whole.reconstruct_modules(digits), atol=1e-5)


def test_partial_fit_after_a_search_for_a_few_directions_is_refused(digits, monkeypatch):
    monkeypatch.setattr("polyfold.spectra._linear.MAX_GRAM", 30)
    model = fitted(digits, n_modules=2, n_components=2)
    before = model.transform(digits)
    with pytest.raises(ValueError, match="got the top 4 that fit has looked for.*fit a new model with partial_fit"):
        model.partial_fit(digits)
    np.testing.assert_array_equal(model.transform(digits), before)


def test_chunks_of_any_form_and_order(digits):
    model = ModularAutoencoder(4, 3, random_state=0)
    for part, form in zip(np.array_split(digits, 4), (np.asarray, sparse.csr_matrix) * 2, strict=True):
        model.partial_fit(form(part))
    assert model.loss_ == pytest.approx(fitted(digits).loss_, rel=1e-9)


def test_a_reused_buffer_and_overwritten_data_count_as_they_were(digits):
    buffer, chunked = np.empty((100, 64)), ModularAutoencoder(4, 3, random_state=0)
    for part in np.array_split(digits, 5):
        buffer[:] = part
        chunked.partial_fit(buffer)
    assert chunked.loss_ == pytest.approx(fitted(digits).loss_, rel=1e-9)
    mine = digits.copy()
    model = fitted(mine)
    before = model.transform(digits)
    mine[:] = 7
    np.testing.assert_array_equal(model.transform(digits), before)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("estimator", [ModularAutoencoder(4, 3), BaggingAutoencoder(4, 3)], ids=lambda e: str(e)[:7])
def test_after_an_interrupted_first_fit_the_model_is_not_fitted(digits, monkeypatch, estimator, method):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    model = clone(estimator)
    if not hasattr(model, method):
        pytest.skip("does not fit in chunks")
    for step in ("_modules.score_solution", "_baselines.bagged_autoencoders"):
        monkeypatch.setattr(f"polyfold.estimators.{step}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, method)(digits)
    for use in (model.transform, model.transform_modules, model.reconstruct_modules):
        with pytest.raises(NotFittedError):
            use(digits)
    with pytest.raises(NotFittedError):
        model.inverse_transform(np.zeros((1, 12)))


def test_an_interrupted_chunk_leaves_the_model_and_its_sums(digits, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    model = fitted(digits[:300])
    before = model.transform(digits)
    with monkeypatch.context() as patch:
        patch.setattr("polyfold.estimators._modules.score_solution", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(digits[300:])
    np.testing.assert_array_equal(model.transform(digits), before)
    assert model.partial_fit(digits[300:]).loss_ == pytest.approx(fitted(digits).loss_, rel=1e-9)


def test_sparse_and_dense_agree(digits):
    dense, thin = fitted(digits), fitted(sparse.csr_matrix(digits))
    assert thin.loss_ == pytest.approx(dense.loss_, rel=1e-9)
    np.testing.assert_allclose(thin.transform(sparse.csr_matrix(digits)), thin.transform(digits), atol=1e-8)


def test_large_sparse_data_are_never_filled_in():
    topic, terms = np.arange(4000) % 8, np.random.default_rng(0).integers(0, 60, (4000, 40))
    places = (np.repeat(np.arange(4000), 40), (terms + 6000 * topic[:, None]).ravel())
    X = sparse.csr_matrix((np.repeat(2.0**-topic, 40), places), shape=(4000, 50_000))
    model = ModularAutoencoder(2, 2, random_state=0).fit(X)
    assert model.transform(X[:10]).shape == (10, 4)
    assert model.loss_bound_ <= model.loss_ < model.spectrum_.trace / 4000


def test_wide_data_agree_with_their_principal_scores(digits):
    wide = np.random.default_rng(0).normal(size=(30, 80)) * 0.9 ** np.arange(80)
    model = fitted(wide, diversity=0.5)
    scores = PCA(29).fit_transform(wide)
    assert model.loss_ == pytest.approx(fitted(scores, diversity=0.5).loss_, rel=1e-6)


def test_remix_equals_a_new_fit(digits):
    model = fitted(digits)
    other = model.remix(diversity=0.9, n_modules=5, n_components=2)
    fresh = ModularAutoencoder(5, 2, diversity=0.9, random_state=0).fit(digits)
    np.testing.assert_allclose(other.transform(digits), fresh.transform(digits), atol=1e-9)
    assert (model.n_modules, model.diversity) == (4, 0.5)
    with pytest.raises(ValueError, match="diversity must be"):
        model.remix(diversity=2.0)


def test_remix_beyond_the_directions_found_is_refused():
    X = sparse.random(4000, 4000, density=2e-3, format="csr", random_state=0)
    model = ModularAutoencoder(2, 2, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"n_modules \* n_components must be <= 4"):
        model.remix(n_modules=5)


def test_remixed_model_takes_chunks_on_its_own(digits):
    model = ModularAutoencoder(4, 3, random_state=0).partial_fit(digits[:100])
    other = model.remix(diversity=0.9).partial_fit(digits[100:200])
    assert (model.spectrum_.n_samples, other.spectrum_.n_samples) == (100, 200)
    assert model.partial_fit(digits[100:200]).spectrum_.n_samples == 200


def test_same_seed_same_modules_for_any_threads(digits):
    first = fitted(digits).transform(digits)
    for threads in (1, 2):
        with threadpool_limits(threads):
            np.testing.assert_allclose(fitted(digits).transform(digits), first, atol=1e-6)
    np.testing.assert_allclose(fitted(digits, n_jobs=1).transform(digits), first, atol=1e-6)
    other = fitted(digits, random_state=1)
    assert not np.allclose(other.transform(digits), first)
    assert other.loss_ == pytest.approx(fitted(digits).loss_, rel=1e-6)


def test_single_precision_stays_single(digits):
    model = fitted(digits.astype(np.float32))
    assert model.transform(digits.astype(np.float32)).dtype == np.float32
    assert model.reconstruct_modules(digits[:5].astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.transform(digits.astype(np.float32)), fitted(digits).transform(digits), atol=0.05)


def test_survives_pickling_and_cloning(digits):
    model = fitted(digits)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(digits), model.transform(digits))
    assert clone(model).get_params() == model.get_params()


def test_names_its_features_and_follows_set_output(digits):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(digits).rename(columns=str)
    out = ModularAutoencoder(2, 2, random_state=0).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == ["module0_dim0", "module0_dim1", "module1_dim0", "module1_dim1"]


def test_is_searchable_in_a_pipeline(digits):
    y = load_digits().target[:500]
    search = GridSearchCV(
        make_pipeline(ModularAutoencoder(3, 3, random_state=0), KNeighborsClassifier(1)),
        {"modularautoencoder__diversity": [0.0, 0.5]},
        cv=2,
    ).fit(digits, y)
    assert search.best_score_ > 0.5


def test_modules_vote_and_are_searched(digits):
    y = load_digits().target[:500]
    representation = ModularAutoencoder(4, 3, random_state=0)
    votes = ModularClassifier(representation, KNeighborsClassifier(1)).fit(digits[:400], y[:400])
    assert votes.score(digits[400:], y[400:]) > 0.7
    chosen = select_diversity(representation, digits, y, grid=[0.0, 0.5])
    assert chosen.best_diversity == 0.5
    found = ModularNeighbors(representation).fit(digits).kneighbors(digits[:3], return_distance=False)
    assert found[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"diversity": 1.1}, r"diversity must be .* <= 1, got 1.1; above 1 the loss is unbounded below \(Theorem 1"),
        ({"diversity": -0.1}, "diversity must be a number >= 0"),
        ({"n_modules": 0}, "n_modules must be an integer >= 1"),
        ({"n_components": 0}, "n_components must be an integer >= 1"),
        ({"solver": "magic"}, "solver must be one of 'closed', 'backfit', 'gradient'"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1.0}, "tol must be"),
    ],
)
def test_bad_parameters_are_named(digits, parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(digits, **parameters)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_values_are_refused(digits, value):
    X = digits.copy()
    X[3, 4] = value
    with pytest.raises(ValueError, match="contains"):
        fitted(X)


@pytest.mark.parametrize("estimator", [ModularAutoencoder(2, 2), BaggingAutoencoder(2, 2)], ids=lambda e: str(e)[:7])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_values_too_large_to_square_are_refused(digits, estimator, form):
    X = digits.copy()
    X[3, 4] = -1e200
    with pytest.raises(ValueError, match=r"X must have magnitudes <= .*, got 1e\+200; remove outliers, or div"):
        clone(estimator).fit(form(X))


def test_constant_data_warn_and_give_zeros():
    with pytest.warns(DegenerateDataWarning, match="0 directions"):
        model = fitted(np.ones((5, 3)))
    assert np.all(model.transform(np.ones((2, 3))) == 0)
    assert model.loss_ == model.loss_bound_ == 0


def test_duplicate_rows_change_nothing(digits):
    model, doubled = fitted(digits), fitted(np.repeat(digits, 2, axis=0))
    assert doubled.loss_ == pytest.approx(model.loss_)


def test_more_units_than_directions_reconstruct_exactly():
    X = np.random.default_rng(0).normal(size=(50, 5))
    model = fitted(X, n_modules=3, n_components=5)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-8)
    assert model.loss_ == pytest.approx(0, abs=1e-8)


def test_unfinished_sweeps_warn_with_their_gap(digits):
    with pytest.warns(ConvergenceWarning, match="max_iter=2 epochs with relative gap"):
        fitted(digits, solver="backfit", max_iter=2, diversity=0.95)


def test_codes_of_the_wrong_width_are_refused(digits):
    with pytest.raises(ValueError, match=r"n_modules \* n_components=12 columns, got 64"):
        fitted(digits).inverse_transform(digits)


def test_modules_are_a_view_of_the_codes(digits):
    modules = fitted(digits).transform_modules(digits)
    assert modules.shape == (4, 500, 3)
    assert modules.base is not None
    assert modules.transpose(1, 0, 2).flags.c_contiguous


def test_modules_come_as_arrays_whatever_transform_returns(digits):
    pytest.importorskip("pandas")
    model = fitted(digits).set_output(transform="pandas")
    np.testing.assert_array_equal(model.transform_modules(digits), fitted(digits).transform_modules(digits))


@pytest.mark.parametrize("power", [-200, 200])
@pytest.mark.parametrize("solver", ["closed", "backfit", "gradient"])
def test_modules_do_not_depend_on_the_scale(digits, solver, power):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain, scaled = (
            fitted(X, solver=solver, max_iter=20, diversity=0.9) for X in (digits, np.ldexp(digits, power))
        )
    codes = np.ldexp(scaled.transform(np.ldexp(digits, power)), -power)
    np.testing.assert_allclose(codes, plain.transform(digits), atol=1e-9)
    assert np.ldexp(scaled.loss_, -2 * power) == pytest.approx(plain.loss_)


@pytest.mark.parametrize("shape", [(300, 10), (10, 300)])
@pytest.mark.parametrize("model", [ModularAutoencoder(3, 2, random_state=0), BaggingAutoencoder(3, 2, random_state=0)])
def test_modules_do_not_depend_on_the_origin(shape, model):
    X = np.random.default_rng(0).normal(size=shape) * 0.9 ** np.arange(shape[1])
    near, far = clone(model).fit(X).transform(X), clone(model).fit(X + 2.0**20).transform(X + 2.0**20)
    np.testing.assert_allclose(far, near, atol=1e-7)
    single = clone(model).fit((X + 2.0**10).astype(np.float32)).transform((X + 2.0**10).astype(np.float32))
    np.testing.assert_allclose(single, near, atol=5e-3)


def test_far_from_the_origin_nothing_is_lost(digits):
    near, far = fitted(digits), fitted(digits + 1e6)
    assert far.loss_ == pytest.approx(near.loss_, rel=1e-6)
    np.testing.assert_allclose(
        far.reconstruct_modules(digits[:5] + 1e6), near.reconstruct_modules(digits[:5]) + 1e6, rtol=1e-9
    )
