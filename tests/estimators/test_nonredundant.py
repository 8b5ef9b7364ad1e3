import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polyfold as pf
from polyfold._regression import NeighborRegression
from polyfold.exceptions import DegenerateDataWarning, GraphWarning
from polyfold.kernels import DiffusionMaps, Isomap, LaplacianEigenmaps, LocallyLinear
from polyfold.nonredundant import _sequence
from tests.oracles.nonredundant import dense_functions

KERNELS = ["laplacian_eigenmaps", "lle", "hessian_lle", "ltsa", "isomap", "diffusion"]


def roll(n=800, height=1.0, seed=0):
    X, _ = make_swiss_roll(n, random_state=seed)
    level = X[:, 1].copy()
    X[:, 1] *= height
    return X, level


def r2(Z, y):
    return cross_val_score(KNeighborsRegressor(10), Z, y, cv=KFold(5, shuffle=True, random_state=0)).mean()


@pytest.mark.parametrize("kernel", KERNELS)
def test_second_coordinate_of_a_roll_is_the_height(kernel):
    X, level = roll()
    model = pf.NonRedundantEmbedding(kernel=kernel, random_state=0).fit(X)
    assert r2(model.embedding_, level) > 0.85
    assert model.novelty_[0] == 1
    assert model.novelty_[1] > 0.8
    assert model.component_scores_[1] < 0.2 * model.component_scores_[0]


def test_repeated_directions_have_low_novelty():
    X, _ = roll()
    plain = pf.NonRedundantEmbedding(kernel="laplacian_eigenmaps", bandwidth=1e3, random_state=0).fit(X)
    assert plain.novelty_[1] < 0.2


@pytest.mark.parametrize("seed", [2, 5])
def test_the_selected_kernel_shows_the_height_of_a_long_roll(seed):
    X, level = roll(1500, 0.5, seed)
    model = pf.NonRedundantEmbedding(random_state=0).fit(X)
    assert r2(model.embedding_ / model.embedding_.std(axis=0), level) > 0.95
    assert model.kernel_scores_[model.kernel_] < 0.8 * model.kernel_scores_["laplacian_eigenmaps"]


def test_the_selected_kernel_gives_the_same_axes_if_it_is_given():
    X, _ = pf.datasets.make_ring(500, random_state=0)
    model = pf.NonRedundantEmbedding(3, random_state=0).fit(X)
    assert model.kernel_ in ("isomap", "lle")
    given = pf.NonRedundantEmbedding(3, kernel=model.kernel_, random_state=0).fit(X)
    assert given.kernel_ == model.kernel_
    assert given.kernel_scores_ == {}
    np.testing.assert_array_equal(given.embedding_, model.embedding_)
    np.testing.assert_allclose(given.component_scores_[-1], model.kernel_scores_[model.kernel_])


def test_eigenmaps_stay_if_no_kernel_is_clearly_better():
    X = np.random.RandomState(0).randn(300, 12)
    assert pf.NonRedundantEmbedding(random_state=0).fit(X).kernel_ == "laplacian_eigenmaps"


def test_settings_are_selected_on_a_sample_of_many_rows(monkeypatch):
    X, level = roll(1200)
    monkeypatch.setattr(_sequence, "SEARCH_ROWS", 700)
    model = pf.NonRedundantEmbedding("auto", random_state=0).fit(X)
    assert model.embedding_.shape == (1200, 2)
    assert model.component_scores_.shape == (3,)
    assert r2(model.embedding_ / model.embedding_.std(axis=0), level) > 0.95
    again = pf.NonRedundantEmbedding("auto", random_state=0).fit(X)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)


def test_warnings_of_kernels_that_are_not_selected_are_not_shown():
    # Isomap joins the two parts, eigenmaps do not; the suite turns any other warning into an error.
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.rand(150, 2), 50 + rng.rand(100, 2)])
    with pytest.warns(GraphWarning) as caught:
        model = pf.NonRedundantEmbedding(random_state=0).fit(X)
    what = {"isomap": "Isomap", "laplacian_eigenmaps": "LaplacianEigenmaps"}[model.kernel_]
    assert all(what in str(warning.message) for warning in caught)


def agreement(A, B):
    """Lowest absolute correlation of matched axes."""
    C = np.abs(np.corrcoef(A.T, B.T)[: A.shape[1], A.shape[1] :])
    return C[linear_sum_assignment(-C)].min()


@pytest.mark.parametrize("shape", ["roll", "box", "images"])
def test_other_seeds_and_most_of_the_rows_give_the_same_axes(shape):
    # With 720 points the turns of the roll are closer than neighbours.
    X, count = {
        "roll": lambda: (roll(1200)[0], 2),
        "box": lambda: (np.random.RandomState(0).uniform(size=(800, 3)) * [2.0, 1.2, 0.7], 3),
        "images": lambda: (pf.datasets.make_rendered_object(1500, size=16, random_state=0)[0], 3),
    }[shape]()
    first = pf.NonRedundantEmbedding(count, random_state=0).fit(X).embedding_
    other = pf.NonRedundantEmbedding(count, random_state=1).fit(X).embedding_
    assert agreement(first, other) >= 0.9
    for draw in (0, 1):
        rows = np.sort(np.random.RandomState(draw).choice(len(X), 9 * len(X) // 10, replace=False))
        most = pf.NonRedundantEmbedding(count, random_state=0).fit(X[rows]).embedding_
        assert agreement(first[rows], most) >= 0.9


def test_rotated_axes_are_reproduced_for_training_rows_and_given_bandwidths_are_not_rotated():
    # LTSA has no preferred axes; the lengths of the box have.
    X = np.random.RandomState(0).uniform(-1, 1, size=(500, 3)) * [8.0, 2.0, 1.2]
    kernel = pf.kernels.TangentAlignment(n_directions=3)
    model = pf.NonRedundantEmbedding(3, kernel=kernel, random_state=0).fit(X)
    R = model.rotation_
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=0.02)
    assert abs(R[1, 1]) < 0.95
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
    np.testing.assert_allclose(model.embedding_.std(axis=0), 1, rtol=1e-6)
    given = pf.NonRedundantEmbedding(3, kernel=kernel, bandwidth=0.3, random_state=0).fit(X)
    np.testing.assert_array_equal(given.rotation_, np.eye(3))


def test_plain_embedding_repeats_itself():
    X, level = roll()
    assert r2(pf.KernelEmbedding(2, kernel="laplacian_eigenmaps").fit_transform(X), level) < 0.3


@pytest.mark.parametrize("kernel", [*KERNELS, "rbf", "linear"])
def test_training_points_are_reproduced(kernel):
    X, _ = roll(500)
    model = pf.NonRedundantEmbedding(n_components=3, kernel=kernel, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_new_points_lie_among_the_old(kernel):
    X, level = roll(1200)
    model = pf.NonRedundantEmbedding(kernel=kernel, random_state=0).fit(X[:1000])
    guess = KNeighborsRegressor(5).fit(model.embedding_, level[:1000]).predict(model.transform(X[1000:]))
    assert np.mean((guess - level[1000:]) ** 2) < 0.2 * np.var(level)


def test_walk_extension_reproduces_training_points_without_looking_them_up():
    # A shift below the spacing but above rounding: no row matches, every one goes through the extension formula.
    X, _ = roll(600)
    model = pf.NonRedundantEmbedding(n_components=3, kernel="laplacian_eigenmaps", random_state=0).fit(X)
    error = model.transform(X + 1e-5) - model.embedding_
    assert np.sqrt(np.mean(error**2)) < 0.1


def test_kernel_extension_is_exact_for_kernels_of_two_points():
    X, _ = roll(300)
    model = pf.NonRedundantEmbedding(n_components=2, kernel="rbf", random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)


@pytest.mark.parametrize("kernel", ["laplacian_eigenmaps", "ltsa"])
def test_the_low_rank_smoother_agrees_with_the_matrix_of_the_paper(kernel, monkeypatch):
    X, _ = roll(400)
    model = pf.NonRedundantEmbedding(kernel=kernel, bandwidth=0.4, random_state=0)
    low = model.fit_transform(X)
    monkeypatch.setattr(_sequence, "predictable_functions", dense_functions)
    dense = model.fit_transform(X)
    assert not np.array_equal(low, dense)
    assert abs(np.corrcoef(low[:, 1], dense[:, 1])[0, 1]) > 0.998


@pytest.mark.parametrize("solver", ["lanczos", "inverse", "dense"])
def test_eigen_solvers_agree(solver):
    X, _ = roll(350)
    options = {"kernel": "laplacian_eigenmaps", "bandwidth": 0.3, "random_state": 0}
    auto = pf.NonRedundantEmbedding(**options).fit_transform(X)
    other = pf.NonRedundantEmbedding(eigen_solver=solver, **options).fit_transform(X)
    for i in range(2):
        assert abs(np.corrcoef(auto[:, i], other[:, i])[0, 1]) > 0.999


@pytest.mark.filterwarnings("ignore::polyfold.exceptions.GraphWarning")
@pytest.mark.parametrize(
    ("options", "unsuitable"), [({"n_neighbors": 4}, {"ltsa"}), ({"eigen_solver": "inverse"}, {"isomap"})]
)
def test_kernels_that_the_options_do_not_suit_have_no_score(options, unsuitable):
    X = np.random.RandomState(0).standard_normal((120, 10))
    model = pf.NonRedundantEmbedding(5, bandwidth=0.5, random_state=0, **options).fit(X)
    assert {name for name, score in model.kernel_scores_.items() if np.isnan(score)} == unsuitable


def test_errors_of_a_compared_kernel_are_raised(monkeypatch):
    def broken(self, X):
        raise ValueError("broken")

    monkeypatch.setattr(LocallyLinear, "operator_on", broken)
    with pytest.raises(ValueError, match="broken"):
        pf.NonRedundantEmbedding(random_state=0).fit(roll(100)[0])


def test_only_the_sample_is_scored(monkeypatch):
    scored, unexplained = [], NeighborRegression.unexplained
    monkeypatch.setattr(NeighborRegression, "unexplained", lambda *given: scored.append(given) or unexplained(*given))
    counts = []
    for n in (2500, 2600):  # beyond 2,500 rows, a sample is used for the selection
        scored.clear()
        options = {"kernel": "laplacian_eigenmaps", "bandwidth": 0.4, "random_state": 0}
        pf.NonRedundantEmbedding("auto", **options).fit(make_swiss_roll(n, random_state=0)[0])
        counts.append(len(scored))
    assert counts == [6, 6]


def test_bandwidth_follows_the_data():
    long, _ = roll(1000, 0.5)
    model = pf.NonRedundantEmbedding(kernel="laplacian_eigenmaps", random_state=0)
    assert model.fit(long).bandwidths_[1] < 0.6
    blob = np.random.RandomState(0).randn(600, 10)
    assert model.fit(blob).bandwidths_[1] >= 0.6


def test_number_of_components_follows_the_data():
    X, _ = roll(1000)
    model = pf.NonRedundantEmbedding(n_components="auto", random_state=0).fit(X)
    assert model.n_components_ == 2
    assert model.transform(X[:3]).shape == (3, 2)


def test_there_are_no_more_components_than_columns():
    # 250 points are too few for this roll: some neighbours are on another turn.
    X, _ = make_swiss_roll(250, random_state=0)
    assert pf.NonRedundantEmbedding("auto", random_state=0).fit(X).n_components_ <= 3


def test_same_seed_same_result():
    X, _ = roll(400)
    a, b = (pf.NonRedundantEmbedding(n_components=3, random_state=7).fit_transform(X) for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_persistence_and_cloning():
    X, _ = roll(300)
    model = pf.NonRedundantEmbedding(random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X[:5] + 0.1), model.transform(X[:5] + 0.1))
    assert clone(model).get_params() == model.get_params()


def test_fitted_model_is_small():
    X, _ = roll(1500)
    model = pf.NonRedundantEmbedding(n_components=2, kernel="laplacian_eigenmaps", random_state=0).fit(X)
    assert len(pickle.dumps(model)) < 8 * 1500 * 150


def test_memory_stays_far_below_a_square_matrix():
    X = np.random.RandomState(0).rand(6000, 2) * [4, 1]
    tracemalloc.start()
    pf.NonRedundantEmbedding(kernel="laplacian_eigenmaps", random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * 6000**2


def test_feature_names():
    X, _ = roll(200)
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    model = pf.NonRedundantEmbedding(random_state=0).set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == ["x", "y", "z"]
    assert list(model.transform(frame).columns) == ["nonredundantembedding0", "nonredundantembedding1"]


def test_float32_stays_float32():
    X, _ = roll(300)
    model = pf.NonRedundantEmbedding(random_state=0).fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32


def test_kernel_parameters_are_searchable():
    model = make_pipeline(StandardScaler(), pf.NonRedundantEmbedding(kernel=LaplacianEigenmaps()))
    model.set_params(nonredundantembedding__kernel__n_neighbors=6)
    assert model[-1].kernel.n_neighbors == 6


def test_n_neighbors_reaches_the_kernel_without_changing_it():
    X, _ = roll(200)
    kernel = Isomap(n_neighbors=12)
    a = pf.NonRedundantEmbedding(kernel=kernel, n_neighbors=6, random_state=0).fit_transform(X)
    b = pf.NonRedundantEmbedding(kernel=Isomap(6), random_state=0).fit_transform(X)
    np.testing.assert_allclose(a, b)
    assert kernel.n_neighbors == 12


def test_precomputed_distances():
    X, _ = roll(200)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    kernel = DiffusionMaps(10, neighbors="precomputed")
    model = pf.NonRedundantEmbedding(kernel=kernel, random_state=0)
    assert model.__sklearn_tags__().input_tags.pairwise
    plain = pf.NonRedundantEmbedding(kernel=DiffusionMaps(10), random_state=0).fit_transform(X)
    np.testing.assert_allclose(model.fit_transform(distances), plain, atol=1e-6)


def test_a_bandwidth_that_sees_single_points_is_warned_of():
    with pytest.warns(DegenerateDataWarning, match=r"bandwidth=0.0001 is so small that \d+ functions"):
        pf.NonRedundantEmbedding(kernel="laplacian_eigenmaps", bandwidth=1e-4, random_state=0).fit(roll(500)[0])


def test_components_of_a_disconnected_graph_have_mean_zero():
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.rand(150, 2), 50 + rng.rand(100, 2)])
    with pytest.warns(GraphWarning, match="2 components"):
        model = pf.NonRedundantEmbedding(n_components=3, kernel="laplacian_eigenmaps", random_state=0).fit(X)
    assert np.all(np.isfinite(model.embedding_))
    operator = model._fitted_operator
    raw = np.column_stack([step.raw for step in model._steps])
    for part in (slice(0, 150), slice(150, 250)):
        np.testing.assert_allclose(operator.weights[part] @ raw[part], 0, atol=1e-8)


@pytest.mark.filterwarnings("ignore::polyfold.exceptions.GraphWarning")
@pytest.mark.parametrize("kernel", KERNELS)
def test_duplicates_are_survived(kernel):
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.rand(80, 3), np.repeat(rng.rand(2, 3), 15, axis=0)])
    Z = pf.NonRedundantEmbedding(kernel=kernel, random_state=0).fit_transform(X)
    assert np.all(np.isfinite(Z))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 30}, "n_components must be an integer >= 1 and <= 29, got 30"),
        ({"n_components": "most"}, "n_components must be one of 'auto', got 'most'"),
        ({"n_neighbors": 30}, "n_neighbors must be an integer >= 1 and <= 29, got 30; X has 30 samples"),
        ({"bandwidth": 0.0}, "bandwidth must be a number > 0, got 0.0"),
        ({"bandwidth": "wide"}, "bandwidth must be one of 'auto', got 'wide'"),
        ({"eigen_solver": "amg"}, "eigen_solver must be one of"),
        ({"kernel": "lem"}, "kernel must be one of"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    X = np.random.RandomState(0).rand(30, 2)
    with pytest.raises(ValueError, match=message):
        pf.NonRedundantEmbedding(**parameters).fit(X)


@pytest.mark.filterwarnings("ignore::polyfold.exceptions.GraphWarning")
@pytest.mark.parametrize("kernel", [*KERNELS, "rbf"])
def test_copies_of_a_point_stay_together_and_training_rows_are_reproduced(kernel):
    X = np.repeat(np.random.RandomState(0).rand(20, 3), 3, axis=0)
    model = pf.NonRedundantEmbedding(kernel=kernel, random_state=0).fit(X)
    for copy in (1, 2):
        np.testing.assert_allclose(model.embedding_[copy::3], model.embedding_[::3], atol=1e-9)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)


def test_directions_that_a_kernel_does_not_have_are_zero_and_warned_of():
    X = (np.random.RandomState(0).rand(200, 3) > 0.5).astype(float)
    with pytest.warns(DegenerateDataWarning, match="n_components=4 is more than the 3 directions"):
        model = pf.NonRedundantEmbedding(4, kernel="linear", random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    assert np.all(model.embedding_[:, :3].std(axis=0) > 0.1)
    np.testing.assert_array_equal(model.embedding_[:, 3], 0)


@pytest.mark.filterwarnings("ignore:all rows of X are equal")
@pytest.mark.parametrize("n", [50, 400])
def test_constant_data_give_zeros_and_a_warning(n):
    with pytest.warns(DegenerateDataWarning, match="more than the 0 directions"):
        model = pf.NonRedundantEmbedding(2, kernel="rbf", random_state=0).fit(np.full((n, 3), 2.0))
    np.testing.assert_array_equal(model.embedding_, 0)
    np.testing.assert_array_equal(model.transform(np.ones((4, 3))), 0)


def test_coordinates_of_exact_kernels_keep_their_size():
    X = load_iris().data
    model = pf.NonRedundantEmbedding(2, kernel="rbf", random_state=0).fit(X)
    assert np.all(model.embedding_.std(axis=0) < 1)


def test_more_coordinates_than_the_data_hold_end_with_a_warning():
    X = np.random.RandomState(0).randn(60, 5)
    with pytest.warns(DegenerateDataWarning):
        model = pf.NonRedundantEmbedding(40, kernel="laplacian_eigenmaps", bandwidth=0.6, random_state=0).fit(X)
    assert model.embedding_.shape == (60, 40)
    assert np.isfinite(model.embedding_).all()
