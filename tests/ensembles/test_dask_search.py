"""Search on a Dask cluster: the neighbours of one machine, whatever happens to the workers."""

import gc
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

pytest.importorskip("distributed")

import dask.array as da
import distributed

import polyfold as pf
from polyfold.ensembles._module_search import ModuleSearch
from polyfold.exceptions import CoverageWarning
from tests.sources.containers import LOCAL, container, rows

pytestmark = pytest.mark.dask

X, NEW = rows(1500).astype(np.float64), rows(60, seed=1).astype(np.float64)
CHUNKS = (400, 12)


@pytest.fixture(scope="module")
def modules():
    return FrozenEstimator(pf.ModularKernelPCA(4, 2, rank=60, random_state=0).fit(X))


@pytest.fixture(scope="module")
def local(modules):
    return pf.ModularNeighbors(modules, n_neighbors=5).fit(X)


@pytest.fixture(scope="module")
def threads():
    """Two workers in this process."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=4, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def remote(threads, modules):
    """Fit an index to four partitions on two workers."""

    def fit(**parameters):
        with threads.as_current():
            index = pf.ModularNeighbors(modules, n_neighbors=5, **parameters)
            return index.fit(da.from_array(X, chunks=CHUNKS))

    return fit


def assert_same(found, expected):
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)


@pytest.mark.parametrize("kind", [*LOCAL[1:], "dask"])
def test_streams_without_a_cluster_are_indexed_in_memory(kind, tmp_path, modules):
    # Sums over Dask chunks differ in their last digits, so that case needs a fitted representation.
    representation = modules if kind == "dask" else pf.ModularKernelPCA(3, 2, rank=60, random_state=0)
    index, expected = (
        pf.ModularNeighbors(representation, n_neighbors=3).fit(given) for given in (container(kind, X, tmp_path), X)
    )
    for named in (index, index.representation_):
        vars(named).pop("feature_names_in_", None)
    np.testing.assert_array_equal(index.kneighbors(NEW)[1], expected.kneighbors(NEW)[1])


@pytest.mark.parametrize(
    "options",
    [{}, {"modules": 1, "expand": 9}, {"modules": [3, 1]}, {"n_neighbors": 20}, {"modules": 4, "expand": 400}],
)
@pytest.mark.parametrize("X_new", [NEW, None], ids=["new", "training"])
def test_neighbours_are_those_of_one_machine(remote, local, options, X_new):
    result = remote().search(X_new, **options)
    assert_same(result, local.kneighbors(X_new, **options))
    assert result.coverage == 1


def test_queries_may_be_on_the_cluster(remote, local, threads):
    with threads.as_current():
        found = remote(deadline=60.0).kneighbors(da.from_array(NEW, chunks=(25, 12)))
    assert_same(found, local.kneighbors(NEW))


def test_large_queries_are_split(remote, local, monkeypatch):
    monkeypatch.setattr("polyfold.ensembles._dask_search.CANDIDATE_BYTES", 20_000)
    assert_same(remote().kneighbors(NEW), local.kneighbors(NEW))


def test_the_budget_is_that_of_one_machine(remote, modules):
    there = remote(recall=0.9)
    here = pf.ModularNeighbors(modules, n_neighbors=5, recall=0.9).fit(X)
    assert (there.modules_, there.expand_) == (here.modules_, here.expand_)
    assert there.recall_ == pytest.approx(here.recall_)
    assert_same(there.kneighbors(NEW), here.kneighbors(NEW))


def test_graphs_of_partitions_reach_the_recall(remote, local, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr("polyfold.ensembles._recall_tuning.EXACT_PAIRS", 1e6)
    index = remote(engine="hnsw", recall=0.9)
    for X_new in (NEW, None):
        limits = local.kneighbors(X_new, modules=4, expand=5)[0][:, -1:]
        assert np.mean(index.kneighbors(X_new)[0] <= limits * (1 + 1e-9)) > 0.88


def slowly(block):
    time.sleep(0.5)
    return block


def test_a_killed_worker_changes_nothing(workers, modules, local):
    rows_in_two = da.from_array(X, chunks=(750, 12)).map_blocks(slowly, dtype=np.float64)
    index = pf.ModularNeighbors(modules, n_neighbors=5).fit(rows_in_two)
    address = next(holders[0] for key, holders in workers.who_has().items() if "_partition" in str(key) and holders)
    os.kill(workers.run(os.getpid, workers=[address])[address], signal.SIGKILL)
    assert_same(index.kneighbors(NEW), local.kneighbors(NEW))
    assert_same(index.kneighbors(), local.kneighbors())


@pytest.fixture
def gate(monkeypatch):
    """Block the search in partitions of some sizes until the test ends."""
    is_open, sizes, candidates = threading.Event(), set(), ModuleSearch.candidates

    def wait(self, *args, **kwargs):
        if len(self.modules) in sizes:
            is_open.wait(60)
        return candidates(self, *args, **kwargs)

    monkeypatch.setattr(ModuleSearch, "candidates", wait)
    yield sizes
    is_open.set()


def test_a_deadline_returns_what_has_arrived(remote, modules, gate):
    index = remote(deadline=2.0)
    gate.add(300)  # the last partition
    first = pf.ModularNeighbors(modules, n_neighbors=5).fit(X[:1200])
    with pytest.warns(CoverageWarning, match=r"Only 80.0% of the rows were searched before the deadline"):
        found = index.kneighbors(NEW)
    assert_same(found, first.kneighbors(NEW))
    distances, indices, coverage = index.search(NEW[:3], 1300)
    assert coverage == pytest.approx(0.8)
    assert np.all(indices[:, 1200:] == -1)
    assert np.all(np.isinf(distances[:, 1200:]))


def test_a_deadline_without_any_answer_is_an_error(remote, gate):
    index = remote(deadline=0.3)
    gate.update((300, 400))
    with pytest.raises(TimeoutError, match=r"No worker answered within 0.3 s. Increase `deadline`"):
        index.kneighbors(NEW)


@pytest.mark.parametrize("deadline", [None, 60.0])
def test_a_deadline_does_not_hide_the_error_of_a_partition(remote, monkeypatch, deadline):
    index, candidates = remote(deadline=deadline), ModuleSearch.candidates

    def fail(self, *args, **kwargs):
        if len(self.modules) == 300:  # the last partition
            raise ArithmeticError("a partition failed")
        return candidates(self, *args, **kwargs)

    monkeypatch.setattr(ModuleSearch, "candidates", fail)
    with pytest.raises(ArithmeticError, match="a partition failed"):
        index.kneighbors(NEW)
    monkeypatch.undo()
    assert index.search(NEW[:3]).coverage == 1.0


def test_refusals(remote):
    with pytest.raises(ValueError, match="deadline must be a number > 0, got 0; it is in seconds"):
        remote(deadline=0)
    with pytest.raises(TypeError, match="An index on a cluster cannot be copied or saved"):
        pickle.dumps(remote())
    with pytest.raises(TypeError, match="radius_neighbors needs an index in memory, but the rows of this one are on a"):
        remote().radius_neighbors(NEW, radius=0.05)


def assert_released(tasks, before):
    end = time.monotonic() + 20
    while set(tasks) - before and time.monotonic() < end:
        gc.collect()
        time.sleep(0.05)
    assert not set(tasks) - before


def test_a_failed_fit_keeps_the_index_and_releases_the_workers(remote, threads):
    tasks = threads.cluster.scheduler.tasks
    before, index, bad = set(tasks), remote(), X.copy()
    bad[901, 3] = np.nan
    with threads.as_current(), pytest.raises(ValueError, match="in row 901, of the block of rows 800 to 1199"):
        index.fit(da.from_array(bad, chunks=CHUNKS))
    assert index.kneighbors(NEW)[1].shape == (60, 5)
    del index
    assert_released(tasks, before)


def test_an_interrupted_fit_releases_the_workers(threads, modules):
    tasks = threads.cluster.scheduler.tasks
    before, handler = set(tasks), signal.signal(signal.SIGALRM, signal.default_int_handler)
    index = pf.ModularNeighbors(modules)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with threads.as_current(), pytest.raises(KeyboardInterrupt):
            index.fit(da.from_array(X, chunks=(100, 12)).map_blocks(slowly, dtype=np.float64))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert not hasattr(index, "n_samples_fit_")
    assert_released(tasks, before)
