"""Search on a cluster: the answers of one machine, and what is said when a part of them is missing."""

import gc
import os
import pickle
import signal
import time
import warnings
from collections import Counter

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

pytest.importorskip("distributed")

import dask
import dask.array as da
import distributed

import polyfold as pf
from polyfold.ensembles._cells import Cells, count_groups, shard_bounds
from polyfold.exceptions import CoverageWarning
from tests.sources.containers import LOCAL, container, rows

X, NEW = rows(1500).astype(np.float64), rows(60, seed=1).astype(np.float64)
CHUNKS = (400, 12)


@pytest.fixture(scope="module")
def modules():
    return FrozenEstimator(pf.ModularKernelPCA(4, 2, rank=60, random_state=0).fit(X))


@pytest.fixture(scope="module")
def here(modules):
    return pf.ModularNeighbors(modules, n_neighbors=5).fit(X)


@pytest.fixture(scope="module")
def threads():
    """Two workers in this process."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def spread(threads, modules):
    """Fit an index to four shards on two workers."""

    def spread(**parameters):
        with threads.as_current():
            index = pf.ModularNeighbors(modules, n_neighbors=5, **parameters)
            return index.fit(da.from_array(X, chunks=CHUNKS))

    return spread


def assert_same(found, wanted):
    np.testing.assert_array_equal(found[1], wanted[1])
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9)


@pytest.mark.parametrize("kind", [*LOCAL[1:], "dask"])
def test_an_index_of_a_stream_is_that_of_the_array(kind, tmp_path, modules):
    # Sums by chunks of Dask differ in their last digits, and so would the modules.
    representation = modules if kind == "dask" else pf.ModularKernelPCA(3, 2, rank=60, random_state=0)
    index, same = (
        pf.ModularNeighbors(representation, n_neighbors=3).fit(given) for given in (container(kind, X, tmp_path), X)
    )
    assert index.n_samples_fit_ == 1500
    for named in (index, index.representation_):
        vars(named).pop("feature_names_in_", None)
    np.testing.assert_array_equal(index.kneighbors(NEW)[1], same.kneighbors(NEW)[1])
    assert index.search(NEW).coverage.is_complete


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_shards_and_groups_of_modules_give_the_neighbours_of_one_machine(spread, here, groups):
    index = spread(module_groups=groups)
    for options in ({}, {"modules": 1, "expand": 9}, {"modules": [3, 1]}, {"n_neighbors": 20}):
        result = index.search(NEW, **options)
        assert_same(result, here.kneighbors(NEW, **options))
        assert result.coverage.is_complete
        assert result.coverage.share == 1
        assert result.coverage.answered.shape[0] == 4


def test_every_group_of_modules_has_its_worker(spread):
    cells = spread(module_groups=2)._search.cells
    places = cells.client.who_has([cells[number] for number in range(len(cells))])
    assert {cells.members(number) for number in range(len(cells))} == {(0, 1), (2, 3)}
    for number in range(0, len(cells), 2):
        assert places[cells[number].key] != places[cells[number + 1].key]


def test_training_points_radius_and_rows_of_dask(spread, here):
    index = spread()
    assert_same(index.kneighbors(), here.kneighbors())
    with index._search.cells.client.as_current():
        assert_same(index.kneighbors(da.from_array(NEW, chunks=(25, 12))), here.kneighbors(NEW))
    for X_new in (NEW, None):
        found, wanted = (each.radius_neighbors(X_new, radius=0.05) for each in (index, here))
        assert sum(map(len, wanted[1])) > 0
        for i in (0, 1):
            np.testing.assert_allclose(np.concatenate(found[i]), np.concatenate(wanted[i]), rtol=1e-9)
    with pytest.raises(ValueError, match="fit with module_groups=1"):
        spread(module_groups=2).radius_neighbors(NEW, radius=0.1)


def test_every_shard_is_tuned_to_a_recall(spread, here):
    index = spread(recall=0.9)
    truth = here.kneighbors(NEW, modules=4, expand=5, return_distance=False)
    found = index.kneighbors(NEW, return_distance=False)
    assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found, truth, strict=True)]) > 0.85
    assert 0.85 < index.recall_ <= 1
    assert index.modules_ <= 4


def fail():
    raise RuntimeError("this part is gone")


def lose(index, numbers):
    for number in numbers:
        index._search.cells[number] = index._search.cells.client.submit(fail, pure=False)


def test_a_lost_shard_costs_its_rows_only(spread, modules):
    index = spread()
    lose(index, [1])
    with pytest.warns(CoverageWarning, match=r"not rows 400 to 799; raise deadline, or search again") as told:
        distances, indices = index.kneighbors(NEW)
    assert len(told) == 1
    coverage = index.search(NEW).coverage
    assert coverage.lost_shards.tolist() == [1]
    assert coverage.share == pytest.approx(1100 / 1500)
    kept = np.setdiff1d(np.arange(1500), np.arange(400, 800))
    others = pf.ModularNeighbors(modules, n_neighbors=5).fit(X[kept])
    assert_same((distances, indices), (others.kneighbors(NEW)[0], kept[others.kneighbors(NEW)[1]]))


def test_a_lost_module_costs_its_part_of_the_distance_only(spread, here):
    index = spread(module_groups=4)
    lose(index, range(2, 16, 4))
    result = index.search(NEW)
    assert result.coverage.lost_modules.tolist() == [2]
    assert result.coverage.share == 0.75
    assert_same(result, here.kneighbors(NEW, modules=[0, 1, 3]))
    lose(index, [5])
    partly = index.search(NEW).coverage
    assert not partly.answered[1, 1]
    assert "module 1 of rows 400 to 799" in str(partly)


def test_rows_that_nobody_has_are_told_from_others(spread):
    index = spread()
    lose(index, [0, 1, 2])
    distances, indices, _ = index.search(NEW[:3], 400)
    assert (indices[:, 300:] == -1).all()
    assert np.isinf(distances[:, 300:]).all()
    assert (indices[:, :300] >= 1200).all()
    lose(index, [3])
    with pytest.raises(RuntimeError, match="this part is gone"):
        index.kneighbors(NEW)


def make_late(index, number, seconds):
    """Let a cell take its time."""
    cells = index._search.cells
    here = [worker.state.actors for worker in cells.client.cluster.workers.values()]
    cell = next(actors[cells[number].key] for actors in here if cells[number].key in actors)
    scan = cell.scan
    cell.scan = lambda *args: [time.sleep(seconds), scan(*args)][1]


def test_a_late_part_is_asked_elsewhere_before_the_deadline(spread, here):
    index = spread(deadline=2.4)
    make_late(index, 0, seconds=3)
    begin = time.monotonic()
    assert_same(index.kneighbors(NEW), here.kneighbors(NEW))
    assert time.monotonic() - begin < 2.4


def test_a_deadline_is_kept_without_the_late(spread, monkeypatch):
    index = spread(deadline=3.0)  # so long that others answer on a busy machine, too
    monkeypatch.setattr(Cells, "renew", lambda self, number: None)
    make_late(index, 0, seconds=6)
    begin = time.monotonic()
    result = index.search(NEW)
    assert time.monotonic() - begin < 4.5
    assert 0 in result.coverage.lost_shards  # and others that wait behind it
    assert (result.indices >= 400).all()
    for number in range(1, 4):
        make_late(index, number, seconds=4.5)
    with pytest.raises(TimeoutError, match="some worker must answer within the deadline"):
        index.kneighbors(NEW)


def test_cells_are_evened_out_over_the_workers_that_are_there(spread, here):
    index = spread()
    cells = index._search.cells
    worker = sorted(cells.client.nthreads())[0]
    for number in range(len(cells)):
        cells[number] = cells._cell(number, cells._rows(number, [worker]), [worker])
    cells._is_uneven = True
    end = time.monotonic() + 10
    while (cells._is_uneven or cells._moving) and time.monotonic() < end:
        assert_same(index.kneighbors(NEW), here.kneighbors(NEW))
    places = cells.client.who_has([cells[number] for number in range(4)])
    assert sorted(Counter(places[cells[number].key][0] for number in range(4)).values()) == [2, 2]


def slowly(block):
    time.sleep(1.5)
    return block


def test_a_killed_worker_costs_its_shard_until_it_is_back(workers, modules, here):
    lazy = da.from_array(X, chunks=(750, 12)).map_blocks(slowly, dtype=np.float64)
    index = pf.ModularNeighbors(modules, n_neighbors=5, deadline=1.0).fit(lazy)
    assert_same(index.set_params(deadline=None).kneighbors(NEW), here.kneighbors(NEW))
    holder = next(iter(workers.who_has([index._search.cells[0]]).values()))[0]
    pid = workers.run(os.getpid, workers=[holder])[holder]
    os.kill(pid, signal.SIGKILL)
    begin = time.monotonic()
    with pytest.warns(CoverageWarning, match="not rows 0 to 749"):
        indices = index.set_params(deadline=1.0).kneighbors(NEW, return_distance=False)
    assert time.monotonic() - begin < 1.5
    assert (indices >= 750).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", CoverageWarning)
        assert_same(index.set_params(deadline=None).kneighbors(NEW), here.kneighbors(NEW))


def test_shards_of_a_worker_that_hangs_are_made_elsewhere(workers, modules, here):
    index = pf.ModularNeighbors(modules, n_neighbors=5).fit(da.from_array(X, chunks=CHUNKS))
    assert index.search().coverage.is_complete
    holder = next(iter(workers.who_has([index._search.cells[0]]).values()))[0]
    pid = workers.run(os.getpid, workers=[holder])[holder]
    os.kill(pid, signal.SIGSTOP)
    try:
        index.set_params(deadline=20.0)
        assert_same(index.kneighbors(), here.kneighbors())
        assert_same(index.kneighbors(NEW), here.kneighbors(NEW))
    finally:
        os.kill(pid, signal.SIGCONT)


def test_rows_whose_own_shard_does_not_answer_have_no_neighbours(spread, here, monkeypatch):
    index = spread(deadline=1.0)
    monkeypatch.setattr(Cells, "renew", lambda self, number: None)
    ask = Cells.ask

    def without_the_first(self, method, arguments, seconds=None):
        found, errors = ask(self, method, {n: each for n, each in arguments.items() if n}, seconds)
        return found, {**errors, **{n: TimeoutError("late") for n in arguments if n == 0}}

    monkeypatch.setattr(Cells, "ask", without_the_first)
    distances, indices, coverage = index.search()
    assert coverage.lost_shards.tolist() == [0]
    assert (indices[:400] == -1).all()
    assert np.isinf(distances[:400]).all()
    assert (indices[400:] >= 400).all()
    with pytest.warns(CoverageWarning, match="not rows 0 to 399"):
        counts = [len(each) for each in index.radius_neighbors(radius=0.5)[1]]
    assert not any(counts[:400])
    assert sum(counts[400:])
    monkeypatch.setattr(
        Cells, "ask", lambda self, method, arguments, seconds=None: ({}, {n: TimeoutError("late") for n in arguments})
    )
    with pytest.raises(TimeoutError, match="some worker must answer within the deadline"):
        index.search()


def test_what_is_refused(spread):
    with pytest.raises(ValueError, match="deadline must be a number > 0, got 0; it is in seconds"):
        spread(deadline=0)
    with pytest.raises(ValueError, match="module_groups must be <= 4, the modules there are, got 5"):
        spread(module_groups=5)
    index = spread(module_groups=2)
    with pytest.raises(ValueError, match=r"modules must be <= 2, those that a worker has.*fit with module_groups=1"):
        index.kneighbors(NEW, modules=3)
    with pytest.raises(TypeError, match="an index on a cluster cannot be copied or saved"):
        pickle.dumps(index)


def test_a_fit_that_fails_leaves_the_index_and_nothing_else(spread, threads):
    tasks = threads.cluster.scheduler.tasks
    before = set(tasks)
    index = spread()
    bad = X.copy()
    bad[901, 3] = np.nan
    with threads.as_current(), pytest.raises(ValueError, match="in row 901, of the block of rows 800 to 1199"):
        index.fit(da.from_array(bad, chunks=CHUNKS))
    assert index.kneighbors(NEW)[1].shape == (60, 5)  # as it was
    del index
    end = time.monotonic() + 10
    while set(tasks) - before and time.monotonic() < end:
        gc.collect()  # calls of actors refer to themselves
        time.sleep(0.05)
    assert not set(tasks) - before


def slower(block):
    time.sleep(0.4)
    return block


def test_an_interrupted_fit_leaves_nothing_on_the_cluster(spread, threads, modules):
    tasks = threads.cluster.scheduler.tasks
    before, handler = set(tasks), signal.signal(signal.SIGALRM, signal.default_int_handler)
    index = pf.ModularNeighbors(modules)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with threads.as_current(), pytest.raises(KeyboardInterrupt):
            index.fit(da.from_array(X, chunks=(100, 12)).map_blocks(slower, dtype=np.float64))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert not hasattr(index, "n_samples_fit_")
    end = time.monotonic() + 10
    while set(tasks) - before and time.monotonic() < end:
        time.sleep(0.05)
    assert not set(tasks) - before


def test_a_dead_scheduler_is_an_error_and_not_a_silence(modules):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),  # what leaving the dead cluster waits for
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        # Nobody's default: a client that lost its scheduler leaves Dask asking for it.
        distributed.Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        index = pf.ModularNeighbors(modules).fit(da.from_array(X, chunks=(1500, 12)))
        cluster.loop.add_callback(cluster.scheduler.close)
        end = time.monotonic() + 5
        while index._search.cells.client.status == "running" and time.monotonic() < end:
            time.sleep(0.02)
        with pytest.raises(ConnectionError, match="the Dask scheduler at .* must answer until the work is done"):
            index.kneighbors(NEW)


def test_shards_are_chunks_that_follow_one_another():
    assert shard_bounds((10,) * 8, 2).tolist() == [0, 2, 4, 6, 8]
    assert shard_bounds((10, 10), 4).tolist() == [0, 1, 2]
    assert shard_bounds((97, 1, 1, 1), 1).tolist() == [0, 1, 4]
    assert count_groups(4, 2, 15) == 1
    assert count_groups(1, 20, 15) == 15
    assert count_groups(2, 9, 15) == 4
