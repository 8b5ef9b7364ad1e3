"""Dask: the same sums by tasks on chunks, lazy results, and no more of the rows than that anywhere."""

import os
import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import pandas as pd
from dask.callbacks import Callback

import polyfold as pf
from tests.sources.containers import container, rows

MODELS = {
    "modular": lambda: pf.ModularKernelPCA(3, 2, rank=60, random_state=0),
    "autoencoder": lambda: pf.ModularAutoencoder(3, 2, random_state=0),
    "embedding": lambda: pf.KernelEmbedding(4, rank=60, random_state=0),
    "partition": lambda: pf.baselines.PartitionKernelPCA(2, 2, rank=60, random_state=0),
}


def sine(A, B):
    """Largest sine of an angle between the spaces of the columns."""
    A, B = (np.linalg.qr(Z.astype(np.float64))[0] for Z in (A, B))
    return np.linalg.norm(A - B @ (B.T @ A), 2)


def assert_same(model, other, X):
    assert getattr(model, "loss_", 0) == pytest.approx(getattr(other, "loss_", 0), rel=1e-4)
    assert sine(np.asarray(model.transform(X)), np.asarray(other.transform(X))) < 1e-4


def test_the_assertion_tells_other_spaces_apart(rng):
    A = rng.standard_normal((50, 3))
    assert sine(A, A @ rng.standard_normal((3, 3))) < 1e-9
    assert sine(A, A + 1e-3 * rng.standard_normal((50, 3))) > 1e-4


@pytest.mark.parametrize("kind", ["dask", "frame"])
@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_that_of_the_array_and_its_results_are_lazy(name, kind, tmp_path):
    X = rows()
    lazy = container(kind, X, tmp_path)
    model = MODELS[name]().fit(lazy)
    Z = model.transform(lazy)
    assert isinstance(Z, da.Array)
    table = pd.DataFrame(X, columns=model.feature_names_in_) if kind == "frame" else X
    assert_same(model, MODELS[name]().fit(table), table)
    np.testing.assert_allclose(Z.compute(), model.transform(table), atol=1e-5 * float(abs(Z).max()))


def test_results_know_their_shape_before_they_are_computed():
    X = da.from_array(rows(1500), chunks=(400, 12))
    model = MODELS["modular"]().fit(X)
    assert model.transform(X).chunks == (X.chunks[0], (6,))
    assert model.transform_modules(X).shape == (3, 1500, 2)
    assert model.transform(X).dtype == np.float32
    np.testing.assert_array_equal(model.transform_modules(X).compute()[1], model.transform(X).compute()[:, 2:4])


def test_methods_that_return_two_arrays_are_lazy_too():
    X = rows(300)
    index = pf.ModularNeighbors(MODELS["modular"](), engine="sklearn").fit(X)
    distances, indices = index.kneighbors(da.from_array(X, chunks=(128, 12)), 3)
    np.testing.assert_array_equal(indices.compute(), index.kneighbors(X, 3)[1])
    np.testing.assert_allclose(distances.compute(), index.kneighbors(X, 3)[0], atol=1e-4)


class Largest(Callback):
    """The most rows of the data that any task has returned."""

    def __init__(self):
        self.rows = 0
        super().__init__(posttask=self.note)

    def note(self, key, result, graph, state, worker):
        if isinstance(result, np.ndarray) and result.ndim == 2 and result.shape[1] == 12:
            self.rows = max(self.rows, len(result))


@pytest.mark.parametrize("name", ["modular", "autoencoder", "embedding"])
def test_no_task_sees_more_than_a_chunk(name):
    X = da.from_array(rows(), chunks=(250, 12))
    with Largest() as largest, dask.config.set(scheduler="synchronous"):
        model = MODELS[name]().fit(X)
        model.transform(X).persist()
    assert 0 < largest.rows <= 256  # a chunk, or the first rows
    with Largest() as largest, dask.config.set(scheduler="synchronous"):
        X.compute()
    assert largest.rows == 3000


def test_bad_rows_are_named_by_their_place_in_all_rows():
    X = rows(1500)
    X[1234, 3] = np.nan
    with pytest.raises(ValueError, match="in row 1234, of the block of rows 1000 to 1499"):
        MODELS["modular"]().fit(da.from_array(X, chunks=(500, 12)))


def test_bad_rows_of_a_lazy_result_are_named_when_it_is_computed():
    X = rows(1500)
    model = MODELS["modular"]().fit(X)
    X[1234, 3] = np.inf
    lazy = model.transform(da.from_array(X, chunks=(500, 12)))
    with pytest.raises(ValueError, match="in row 1234, of the block of rows 1000 to 1499"):
        lazy.compute()
    with pytest.raises(ValueError, match="in row 1234, of the block of rows 0 to 1499"):
        model.transform([X[:700], X[700:]])


def test_chunks_of_unknown_size_are_refused_with_the_way_out():
    X = da.from_array(rows(600), chunks=(100, 12))
    X = X[X[:, 0] > 4]
    with pytest.raises(ValueError, match=r"X must have chunks of known sizes.*call X.compute_chunk_sizes\(\) first"):
        MODELS["modular"]().fit(X)
    model = MODELS["modular"]().fit(X.compute_chunk_sizes())
    assert model.transform(X).compute().shape[1] == 6


def test_an_empty_chunk_is_refused():
    X = da.from_array(rows(600), chunks=((300, 0, 300), 12))
    with pytest.raises(ValueError, match="X must have rows in every chunk, got none in chunk 1"):
        MODELS["modular"]().fit(X)


@pytest.mark.parametrize("kind", ["bool", "Int64", "float64[pyarrow]"])
def test_numbers_of_every_kind_that_pandas_has(kind):
    frame = pd.DataFrame(rows(600).astype(np.float64), columns=list("abcdefghijkl"))
    frame["d"] = (frame.d > 5).astype(kind)
    model = MODELS["modular"]().fit(dd.from_pandas(frame, npartitions=3))
    same = MODELS["modular"]().fit(frame.astype(float))
    np.testing.assert_allclose(model.eigenvalues_, same.eigenvalues_, rtol=1e-6)


def test_parts_of_which_nothing_is_left_give_no_rows():
    frame = pd.DataFrame(np.sort(rows(600), axis=0), columns=list("abcdefghijkl"))
    model = MODELS["modular"]().fit(frame)
    lazy = dd.from_pandas(frame, npartitions=4)
    few = lazy[lazy.a > frame.a[450]]
    np.testing.assert_allclose(
        model.transform(few).compute(), model.transform(frame[frame.a > frame.a[450]]), rtol=1e-5
    )


def test_texts_and_other_collections_are_refused():
    with pytest.raises(ValueError, match="X must have columns of numbers, got 'a'"):
        MODELS["modular"]().fit(dd.from_pandas(pd.DataFrame({"a": ["x", "y"] * 9}), npartitions=2))
    with pytest.raises(ValueError, match="X must be a Dask array, or a Dask data frame"):
        MODELS["modular"]().fit(dask.delayed(rows)(5))
    X = da.from_array(rows(600), chunks=(100, 12))
    model = MODELS["modular"]().fit(X)
    with pytest.raises(ValueError, match="write_rows does not take Dask rows"):
        pf.sources.write_rows(model.transform, X, np.empty((600, 6)))


def slowly(block, seconds=0.1):
    time.sleep(seconds)
    return block


@pytest.fixture
def slow_rows():
    return da.from_array(rows(2000), chunks=(100, 12)).map_blocks(slowly, dtype=np.float32)


@pytest.mark.slow
def test_processes_give_the_same_model_though_one_dies(workers, processes, slow_rows):
    there = MODELS["modular"]().fit(rows(2000))
    undisturbed = MODELS["modular"]().fit(slow_rows)
    assert_same(undisturbed, there, rows(2000))
    victim = next(iter(processes.workers.values()))
    killer = threading.Timer(0.5, lambda: os.kill(victim.pid, signal.SIGKILL))
    killer.start()
    model = MODELS["modular"]().fit(slow_rows)
    killer.join()
    np.testing.assert_array_equal(model.eigenvalues_, undisturbed.eigenvalues_)
    np.testing.assert_array_equal(model.components_, undisturbed.components_)


def test_an_interrupted_fit_leaves_nothing_on_the_cluster(workers, processes, slow_rows):
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.7)
        with pytest.raises(KeyboardInterrupt):
            MODELS["modular"]().fit(slow_rows.map_blocks(slowly, seconds=1, dtype=np.float32))
    finally:
        signal.signal(signal.SIGALRM, before)
    deadline = time.monotonic() + 20
    while processes.scheduler.tasks and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not processes.scheduler.tasks


def test_a_dead_scheduler_is_an_error_and_not_a_silence(slow_rows):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),  # what leaving the dead cluster waits for
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        # Nobody's default: a client that lost its scheduler leaves Dask asking for it.
        distributed.Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        killer = threading.Timer(0.3, lambda: cluster.loop.add_callback(cluster.scheduler.close))
        killer.start()
        with pytest.raises(ConnectionError, match="The Dask scheduler at .* does not answer"):
            MODELS["modular"]().fit(slow_rows)
        with pytest.raises(ConnectionError, match="start again"):
            MODELS["modular"]().fit(slow_rows)


def test_partitions_with_columns_in_another_order_are_refused():
    frame = pd.DataFrame(np.random.RandomState(0).standard_normal((40, 3)), columns=list("abc"))
    parts = [frame[:20], frame[20:][list("cba")]]
    X = dd.from_map(lambda number: parts[number], [0, 1], meta=frame[:0], enforce_metadata=False)
    with pytest.raises(ValueError, match="partitions of X must have its columns, a, b, c, .* got c, b, a"):
        pf.ModularKernelPCA(2, 2, random_state=0).fit(X)


def test_chunks_of_another_shape_than_declared_are_refused(rng):
    rows = rng.standard_normal((50, 4))
    for wrong in (rows[:, :3], rows[:10], np.hstack([rows, rows])):
        chunks = [da.from_delayed(dask.delayed(chunk), rows.shape, rows.dtype) for chunk in (rows, wrong)]
        with pytest.raises(ValueError, match=r"shape that X declares, \(50, 4\) for chunk \(1, 0\), got"):
            MODELS["modular"]().fit(da.concatenate(chunks))


def test_scattered_rows_of_a_lost_worker_are_named(rng):
    rows = rng.standard_normal((60, 5))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        worker = next(iter(cluster.workers.values()))
        held = client.scatter(rows, workers=[worker.address], hash=False)
        X = da.from_delayed(dask.delayed(held), rows.shape, rows.dtype)
        client.sync(worker.close, nanny=False)
        with pytest.raises(ConnectionError, match="workers .* that held rows of X in memory are gone"):
            MODELS["modular"]().fit(X)
