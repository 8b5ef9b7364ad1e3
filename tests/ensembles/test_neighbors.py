import pickle
import sys

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import get_tags

import polyfold as pf
from polyfold.ensembles._module_search import paired_distances, rank_candidates
from polyfold.exceptions import MissingExtraError
from polyfold.kernels import Gaussian
from polyfold.metrics import retrieval_precision
from tests.oracles import modular as oracle

ENGINES = [
    "sklearn",
    pytest.param("faiss", marks=pytest.mark.skipif("not __import__('importlib').util.find_spec('faiss')")),
]


@pytest.fixture
def index_of(blobs):
    def build(engine="sklearn", **parameters):
        modules = pf.ModularKernelPCA(5, 3, diversity=0.99, random_state=0)
        return pf.ModularNeighbors(modules, n_neighbors=4, engine=engine, **parameters).fit(blobs)

    return build


@pytest.mark.parametrize("engine", ENGINES)
def test_default_is_the_rule_of_the_paper(engine, index_of, blobs, rng):
    queries = blobs[::9] + 0.1 * rng.standard_normal((10, 5))
    index = index_of(engine)
    modules, query_modules = (index.representation_.transform_modules(Z) for Z in (blobs, queries))
    found = index.kneighbors(queries, return_distance=False)
    for i, row in enumerate(found):
        assert list(row) == oracle.retrieve(query_modules[:, i], modules, 4)


def test_distances_are_roots_of_the_mean_over_modules(index_of, blobs):
    index = index_of()
    distances, indices = index.kneighbors(blobs[:5])
    Z = index.representation_.transform_modules(blobs)
    expected = np.sqrt(((Z[:, :5, None] - Z[:, indices]) ** 2).sum(axis=3).mean(axis=0))
    np.testing.assert_allclose(distances, expected, atol=1e-6)
    assert np.all(np.diff(distances, axis=1) >= 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_enough_candidates_make_the_search_exact(engine, index_of, blobs):
    index = index_of(engine)
    Z = index.representation_.transform(blobs)
    truth = NearestNeighbors(n_neighbors=4, algorithm="brute").fit(Z).kneighbors(Z, return_distance=False)
    for settings in ({"modules": 1, "expand": 90}, {"modules": 2, "expand": 45}, {"expand": 90}):
        found = index.kneighbors(blobs, return_distance=False, **settings)
        assert retrieval_precision(found, truth) == 1


def test_more_candidates_never_hurt_much(index_of, blobs):
    index = index_of()
    Z = index.representation_.transform(blobs)
    truth = NearestNeighbors(n_neighbors=4, algorithm="brute").fit(Z).kneighbors(Z, return_distance=False)
    precision = [
        retrieval_precision(index.kneighbors(blobs, modules=1, expand=e, return_distance=False), truth)
        for e in (4, 8, 16, 32)
    ]
    assert precision == sorted(precision)


def test_lost_modules_are_neither_scanned_nor_ranked(index_of, blobs):
    index = index_of()
    kept = index.kneighbors(blobs, modules=[0, 3], return_distance=False)
    Z = index.representation_.transform_modules(blobs)
    for i in range(0, 90, 11):
        assert list(kept[i]) == oracle.retrieve(Z[[0, 3], i], Z[[0, 3]], 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"modules": 6}, "modules must be an integer >= 1 and <= 5, got 6"),
        ({"modules": 0}, "modules must be an integer >= 1 and <= 5, got 0"),
        ({"modules": [0, 5]}, "modules must be an integer >= 0 and <= 4, got 5"),
        ({"modules": []}, "modules must name at least one module and none twice"),
        ({"modules": [1, 1]}, "modules must name at least one module and none twice"),
        ({"expand": 0}, "expand must be an integer >= 1, got 0"),
        ({"n_neighbors": 91}, "n_neighbors must be an integer >= 1 and <= 90, got 91"),
    ],
)
def test_bad_arguments_are_named(arguments, message, index_of, blobs):
    with pytest.raises(ValueError, match=message):
        index_of().kneighbors(blobs, **arguments)


@pytest.mark.parametrize("engine", ENGINES)
def test_pickle_keeps_the_index(engine, index_of, blobs):
    index = index_of(engine)
    expected = index.kneighbors(blobs, return_distance=False)
    again = pickle.loads(pickle.dumps(index))
    np.testing.assert_array_equal(again.kneighbors(blobs, return_distance=False), expected)


def test_unknown_engine_is_told(index_of):
    with pytest.raises(ValueError, match="engine must be one of 'auto', 'sklearn', 'faiss', 'hnsw', got 'annoy'"):
        index_of("annoy")


def test_missing_faiss_names_the_pip_command(index_of, blobs, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r'^faiss is needed .*; run: pip install "faiss-cpu>=[\d.]+"$'):
        index_of("faiss").kneighbors(blobs)


def test_frozen_representation_searches_other_rows(blobs):
    fitted = pf.ModularKernelPCA(3, 2, random_state=0).fit(blobs)
    index = pf.ModularNeighbors(FrozenEstimator(fitted), n_neighbors=2).fit(blobs[:50])
    assert index.kneighbors(blobs, return_distance=False).max() < 50


def test_ranking_drops_repeats_and_fills_with_minus_one():
    rows, totals = np.array([[1, 0, 1, 2]]), np.array([[0.01, 0.81, 0.01, 5.0]])
    distances, indices = rank_candidates(rows, totals, 4, None)
    np.testing.assert_array_equal(indices, [[1, 0, 2, -1]])
    np.testing.assert_array_equal(distances, [[0.01, 0.81, 5.0, np.inf]])
    np.testing.assert_array_equal(rank_candidates(rows, totals, 2, np.array([1]))[1], [[0, 2]])


@pytest.mark.parametrize("nonsense", [-4, 3, 10**12])
def test_numbers_that_are_no_rows_are_refused(nonsense):
    Z = np.array([[[0.0]], [[1.0]], [[3.0]]])
    with pytest.raises(IndexError, match="the model is damaged"):
        paired_distances(Z[:1], Z, np.array([0]), np.array([0]), np.array([nonsense]))


def test_distances_of_pairs_are_those_of_the_named_modules(rng):
    Q, Z = rng.standard_normal((4, 5, 2)), rng.standard_normal((9, 5, 2))
    queries, rows = np.repeat(np.arange(4), 9), np.tile(np.arange(9), 4)
    expected = ((Q[:, None, [0, 3]] - Z[None, :, [0, 3]]) ** 2).sum(axis=(2, 3))
    np.testing.assert_allclose(paired_distances(Q, Z, np.array([3, 0]), queries, rows), expected.ravel())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
def test_neighbours_do_not_depend_on_the_scale_of_the_modules(engine, factor, index_of, blobs):
    class Scaled(pf.ModularKernelPCA):
        def transform_modules(self, X):
            return super().transform_modules(X).astype(np.float32) * np.float32(factor)

    index = pf.ModularNeighbors(Scaled(5, 3, diversity=0.99, random_state=0), n_neighbors=4, engine=engine).fit(blobs)
    expected = index_of(engine).kneighbors(blobs, return_distance=False)
    np.testing.assert_array_equal(index.kneighbors(blobs, return_distance=False), expected)


def test_precomputed_kernels_are_searched_as_the_kernel_is(blobs):
    K = np.exp(-((blobs[:, None] - blobs) ** 2).sum(axis=2))
    index = pf.ModularNeighbors(pf.ModularKernelPCA(3, 2, kernel="precomputed", random_state=0), n_neighbors=3)
    assert get_tags(index).input_tags.pairwise
    found = index.fit(K[:60, :60]).kneighbors(K[60:, :60], return_distance=False)
    other = pf.ModularNeighbors(pf.ModularKernelPCA(3, 2, kernel=Gaussian(gamma=1.0), random_state=0), n_neighbors=3)
    expected = other.fit(blobs[:60]).kneighbors(blobs[60:], return_distance=False)
    np.testing.assert_array_equal(found, expected)


def test_names_of_columns_reach_a_frozen_representation(blobs, recwarn):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(blobs, columns=[f"c{j}" for j in range(blobs.shape[1])])
    representation = pf.ModularKernelPCA(2, 2, random_state=0).fit(frame)
    index = pf.ModularNeighbors(FrozenEstimator(representation), n_neighbors=2).fit(frame)
    index.kneighbors(frame[:5])
    assert not recwarn.list
    with pytest.raises(ValueError, match="feature names"):
        pf.ModularNeighbors(FrozenEstimator(representation)).fit(frame[frame.columns[::-1]])
    plain = pf.ModularNeighbors(FrozenEstimator(pf.ModularKernelPCA(2, 2, random_state=0).fit(blobs))).fit(frame)
    plain.kneighbors(frame[:5])
