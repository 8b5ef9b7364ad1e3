"""Search with a wanted recall: it is reached, and the reported recall is true."""

import importlib.util
import pickle
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors

import polyfold as pf
from polyfold._threads import using_threads
from polyfold.exceptions import GraphWarning, MissingExtraError

FAISS = pytest.mark.skipif(importlib.util.find_spec("faiss") is None, reason="needs the extra faiss")
ENGINES = ["sklearn", pytest.param("faiss", marks=FAISS), pytest.param("hnsw", marks=FAISS)]


class Given(BaseEstimator):
    """Eight modules, given side by side."""

    def fit(self, Z, y=None):
        return self

    def transform_modules(self, Z):
        return Z.reshape(len(Z), 8, -1).transpose(1, 0, 2)


def cloud(n, seed=0):
    """Points near a surface of six dimensions, in eight modules of four: (n, 32)."""
    rng = np.random.RandomState(seed)
    axes = np.random.RandomState(7).standard_normal((6, 32))
    return np.tanh(rng.standard_normal((n, 6)) @ axes) + 0.1 * rng.standard_normal((n, 32))


@pytest.fixture(scope="module")
def points():
    return cloud(7500)


@pytest.fixture(scope="module")
def queries():
    return cloud(500, seed=1)


def index_of(points, engine, **parameters):
    return pf.ModularNeighbors(Given(), engine=engine, **parameters).fit(points)


def true_recall(index, points, queries=None, **options):
    """Fraction of the neighbours found that are as near as the k-th true one."""
    distances = index.kneighbors(queries, **options)[0]
    exact = NearestNeighbors(n_neighbors=distances.shape[1], algorithm="brute").fit(points)
    return np.mean(distances * 8**0.5 <= exact.kneighbors(queries)[0][:, -1:] * (1 + 1e-6))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("recall", [0.8, 1.0])
def test_the_wanted_recall_is_reached(engine, recall, points, queries):
    index = index_of(points, engine, recall=recall)
    for rows in (None, queries):
        assert true_recall(index, points, rows) >= recall - 0.02
    assert true_recall(index, points, queries, n_neighbors=30) >= recall - 0.05


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_the_reported_error_covers_the_true_recall(engine):
    """Two standard errors cover the truth in most repetitions; `benchmarks/studies/recall.py` has 100 of them."""
    covered = []
    for seed in range(8):
        points = cloud(7500, seed)
        index = index_of(points, engine, recall=0.9)
        assert 0 < index.recall_error_ < 0.03
        deviations = [index.recall_ - true_recall(index, points, rows) for rows in (None, cloud(1500, seed + 100))]
        covered.append(np.abs(deviations) <= 2 * index.recall_error_)
    assert np.all(np.mean(covered, axis=0) >= 0.75)


@pytest.mark.parametrize("engine", ENGINES)
def test_ties_are_not_misses(engine):
    points = np.rint(cloud(7500))
    index = index_of(points, engine, recall=0.9)
    assert abs(index.recall_ - true_recall(index, points)) <= 3 * index.recall_error_


@pytest.mark.parametrize("engine", ENGINES)
def test_less_recall_costs_less(engine, points):
    low, high = (index_of(points, engine, recall=recall) for recall in (0.6, 0.99))
    assert (low.modules_, low.expand_) < (high.modules_, high.expand_)


@pytest.mark.parametrize("engine", ENGINES)
def test_distances_are_those_over_all_modules(engine, points, queries):
    distances, indices = index_of(points, engine, recall=0.9).kneighbors(queries)
    expected = np.sqrt(((queries[:, None] - points[indices]) ** 2).sum(axis=2) / 8)
    np.testing.assert_allclose(distances, expected, rtol=1e-9)
    assert np.all(np.diff(distances, axis=1) >= 0)


def test_without_a_recall_nothing_is_tuned(points):
    index = index_of(points[:300], "sklearn")
    assert not hasattr(index, "recall_")
    assert hasattr(index.set_params(recall=0.9).fit(points[:300]), "recall_")
    assert not hasattr(index.set_params(recall=None).fit(points[:300]), "recall_")


@pytest.mark.parametrize("recall", [0.0, -0.5, 1.5])
def test_a_recall_outside_0_and_1_is_refused(recall, points):
    with pytest.raises(ValueError, match="recall must be a number > 0 and <= 1, got"):
        index_of(points, "sklearn", recall=recall)


def test_missing_faiss_is_reported_before_the_fit(points, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r'^faiss is needed .*; run: pip install "faiss-cpu>=[\d.]+"$'):
        index_of(points, "hnsw")


@pytest.fixture(scope="module")
def index(points):
    return index_of(points, "hnsw")


@FAISS
class TestGraph:
    """The engine "hnsw"."""

    def test_it_is_the_same_for_any_number_of_threads_and_when_loaded(self, index, points, queries, tmp_path):
        expected = index.kneighbors(queries)
        with using_threads(2):
            again = index_of(points, "hnsw")
        with using_threads(1):
            single = index_of(points, "hnsw")
        for other in (again, single, pickle.loads(pickle.dumps(index))):
            assert (other.recall_, other.modules_, other.expand_) == (index.recall_, index.modules_, index.expand_)
            for found, wanted in zip(other.kneighbors(queries), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)

    def test_a_damaged_file_is_refused(self, index):
        (graph,) = pickle.loads(pickle.dumps(index))._search._graphs.values()
        state = graph.__getstate__()
        levels, offsets, neighbors = (state["links"][name] for name in ("levels", "offsets", "neighbors"))
        high, low = np.flatnonzero(levels > 1)[0], np.flatnonzero(levels == 1)[0]
        upper = int(offsets[low + 1] - offsets[low] + offsets[high])  # its links of level 1 are after those of level 0
        for place, row in ((7, 7500), (upper, low)):
            before, neighbors[place] = neighbors[place], row
            with pytest.raises(ValueError, match="point outside its 7500 rows or levels"):
                graph.__setstate__(state)
            neighbors[place] = before
        graph.__setstate__(state)

    def test_more_candidates_find_more(self, index, points, queries):
        found = [true_recall(index, points, queries, expand=expand) for expand in (10, 20, 160)]
        assert found == sorted(found)
        assert found[-1] > 0.99

    def test_training_rows_are_not_their_own_neighbours(self, index):
        indices = index.kneighbors(return_distance=False)
        assert not np.any(indices == np.arange(7500)[:, None])

    def test_other_numbers_of_modules_have_their_own_graph(self, index, points, queries):
        assert true_recall(index, points, queries, modules=8, expand=60) > 0.97

    @pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
    def test_the_scale_does_not_matter(self, factor, index, points, queries):
        found = index_of(points * factor, "hnsw").kneighbors(queries * factor, return_distance=False)
        np.testing.assert_array_equal(found, index.kneighbors(queries, return_distance=False))

    def test_integers_and_tight_groups_are_found(self, points, queries):
        whole = np.rint(20 * points).astype(int)
        assert true_recall(index_of(whole, "hnsw"), whole, np.rint(20 * queries)) > 0.93
        centres = np.random.RandomState(0).standard_normal((100, 32))
        tight = np.repeat(centres, 75, axis=0) + 1e-3 * points
        assert true_recall(index_of(tight, "hnsw"), tight, np.repeat(centres, 5, axis=0) + 1e-3 * queries) > 0.93

    def test_duplicates_do_not_hide_other_rows(self):
        few = cloud(60)
        index = index_of(np.repeat(few, 125, axis=0), "hnsw", n_neighbors=135)
        distances, indices = index.kneighbors(few)
        np.testing.assert_allclose(distances[:, :125], 0, atol=1e-6)
        assert [len(set(row)) for row in indices] == [135] * 60

    def test_modules_are_scanned_if_the_graph_does_not_reach_the_recall(self, points, queries, monkeypatch):
        def first_rows(self, X, k):
            return np.zeros((len(X), k)), np.tile(np.arange(k), (len(X), 1))

        monkeypatch.setattr("polyfold.neighbors._engines._FaissCandidates.query", first_rows)
        with pytest.warns(GraphWarning, match=r"The graph does not reach recall=0.9: it finds 0\.\d+"):
            index = index_of(points, "hnsw", recall=0.9)
        assert true_recall(index, points, queries) >= 0.9

    @pytest.mark.parametrize("n", [1, 2, 3, 11])
    def test_few_rows_are_scanned(self, n):
        index = index_of(cloud(n), "hnsw", n_neighbors=1)
        assert index.recall_ == 1
        np.testing.assert_array_equal(index.kneighbors(cloud(n), return_distance=False)[:, 0], np.arange(n))
        if n > 1:
            assert index.kneighbors(return_distance=False).shape == (n, 1)
