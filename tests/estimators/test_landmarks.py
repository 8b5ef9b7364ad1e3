"""Graph kernels of more rows than a graph is made of: landmarks stand for all, which are placed beside them."""

import pickle

import numpy as np
import pytest

pytest.importorskip("dask")
pytest.importorskip("zarr")

import dask
import dask.array as da
from dask.callbacks import Callback

import polyfold as pf
from polyfold.sources import _picking
from tests.sources.containers import container

MODELS = {
    "nonredundant": lambda **options: pf.NonRedundantEmbedding(
        2, random_state=0, **{"kernel": "laplacian_eigenmaps", **options}
    ),
    "plain": lambda **options: pf.KernelEmbedding(2, random_state=0, **{"kernel": "laplacian_eigenmaps", **options}),
}


def strip(n=1600):
    """Points of a strip in 12 columns."""
    X, places = pf.datasets.make_strip(n, random_state=0)
    turn = np.linalg.qr(np.random.RandomState(1).standard_normal((12, 12)))[0][:2]
    return (X @ turn).astype(np.float32), places


def r2(Z, place):
    """Share of a direction that a polynomial of the coordinates explains."""
    Z = Z / Z.std(axis=0)
    powers = np.column_stack([Z[:, 0] ** i * Z[:, 1] ** j for i in range(6) for j in range(6 - i)])
    left = place - powers @ np.linalg.lstsq(powers, place, rcond=None)[0]
    return 1 - left.var() / place.var()


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(_picking, "LANDMARKS", 400)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["array", "memmap", "zarr", "blocks", "parquet"])
def test_streams_that_fit_give_the_model_of_the_array(name, kind, tmp_path):
    X, _ = strip(500)
    model, there = MODELS[name]().fit(container(kind, X, tmp_path)), MODELS[name]().fit(X)
    np.testing.assert_array_equal(model.eigenvalues_, there.eigenvalues_)
    assert model.landmarks_ is None
    Z = model.transform(container(kind, X, tmp_path))
    np.testing.assert_allclose(Z, there.transform(X), atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["memmap", "zarr", "blocks", "dask"])
def test_streams_that_do_not_fit_are_placed_by_landmarks(name, kind, few, monkeypatch, tmp_path):
    X, places = strip()
    monkeypatch.setattr(_picking, "budget", lambda: X.nbytes - 1)
    model = MODELS[name]()
    Z = model.fit_transform(container(kind, X, tmp_path))
    assert isinstance(Z, da.Array) == (kind == "dask")
    Z = np.asarray(Z)
    assert len(model.landmarks_) == 400
    assert model.residuals_.max() < 1e-6
    assert model.neighbor_recall_ == 1
    # The model is that of the landmarks as an array.
    there = MODELS[name]().fit(X[model.landmarks_])
    np.testing.assert_allclose(Z, there.transform(X), atol=1e-4)
    assert r2(Z, places[:, 0]) > 0.99
    if name == "nonredundant":
        assert r2(Z, places[:, 1]) > 0.9
        np.testing.assert_allclose(Z[model.landmarks_], model.embedding_, atol=1e-5)


@pytest.mark.parametrize("kernel", ["lle", "ltsa", "hessian_lle", "isomap"])
def test_arrays_are_placed_by_landmarks_where_a_kernel_takes_few(kernel, few):
    X, places = strip()
    model = MODELS["nonredundant"](kernel=kernel).fit(X)
    assert len(model.landmarks_) == 400
    assert model.embedding_.shape == (1600, 2)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-5)
    for place in places.T:
        assert r2(model.embedding_, place) > 0.95
    plain = MODELS["plain"](kernel=kernel).fit(X)
    np.testing.assert_array_equal(
        MODELS["plain"](kernel=kernel).fit(X[plain.landmarks_]).eigenvalues_, plain.eigenvalues_
    )


def test_a_selected_kernel_that_takes_few_is_fitted_to_landmarks(few):
    X, places = strip()
    model = pf.NonRedundantEmbedding(2, random_state=0).fit(X)
    assert model.kernel_ == "isomap"
    assert len(model.landmarks_) == 400
    assert model.embedding_.shape == (1600, 2)
    assert min(r2(model.embedding_, place) for place in places.T) > 0.9


def test_walks_of_arrays_are_on_all_rows(few):
    X, _ = strip()
    assert MODELS["nonredundant"]().fit(X).landmarks_ is None
    assert MODELS["plain"](kernel="diffusion").fit(X).landmarks_ is None


@pytest.mark.parametrize("name", MODELS)
def test_a_seed_is_one_model_and_a_pickle_keeps_it(name, few):
    X, _ = strip()
    lazy = da.from_array(X, chunks=(500, 12))
    model, again = MODELS[name]().fit(lazy), MODELS[name](n_jobs=2).fit(lazy.rechunk((123, 12)))
    np.testing.assert_array_equal(model.eigenvalues_, again.eigenvalues_)
    np.testing.assert_array_equal(model.transform(X[:50]), pickle.loads(pickle.dumps(model)).transform(X[:50]))


class Largest(Callback):
    """The most rows of the data, or of anything square in them, that any task has returned."""

    def __init__(self):
        self.rows = 0
        super().__init__(posttask=self.note)

    def note(self, key, result, graph, state, worker):
        if isinstance(result, np.ndarray) and result.ndim == 2:
            self.rows = max(self.rows, len(result))


@pytest.mark.parametrize("name", MODELS)
def test_no_task_of_a_cluster_sees_more_than_a_chunk(name, few):
    X = da.from_array(strip()[0], chunks=(200, 12))
    with Largest() as largest, dask.config.set(scheduler="synchronous"):
        Z = MODELS[name]().fit_transform(X)
        assert largest.rows <= 200
        assert isinstance(Z, da.Array)
        Z.persist()
    assert 0 < largest.rows <= 200
    with Largest() as largest, dask.config.set(scheduler="synchronous"):
        X.compute()
    assert largest.rows == 1600


@pytest.mark.parametrize("name", MODELS)
def test_a_bad_row_is_named_though_it_is_no_landmark(name, few):
    X, _ = strip()
    landmarks = MODELS[name](kernel="lle").fit(X).landmarks_
    bad = X.copy()
    row = np.setdiff1d(np.arange(1600), landmarks)[-1]
    bad[row, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        MODELS[name](kernel="lle").fit(bad)
    with pytest.raises(ValueError, match=f"in row {row}"):
        MODELS[name]().fit(da.from_array(bad, chunks=(200, 12)))


def test_given_graphs_and_distances_are_never_sampled(few):
    X, _ = strip(600)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    kernel = pf.kernels.LaplacianEigenmaps(neighbors="precomputed")
    assert MODELS["nonredundant"](kernel=kernel).fit(da.from_array(distances, chunks=(100, 600))).landmarks_ is None


def test_another_kernel_leaves_nothing_of_the_graph():
    X, _ = strip(300)
    model = MODELS["plain"]().fit(X)
    assert model.neighbor_recall_ == 1
    assert not hasattr(model.set_params(kernel="rbf").fit(X), "neighbor_recall_")
