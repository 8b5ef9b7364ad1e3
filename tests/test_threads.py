import threading
import time

import numpy as np
import pytest
from joblib import Parallel, cpu_count, delayed, parallel_config
from sklearn import config_context, get_config
from threadpoolctl import threadpool_info, threadpool_limits

from polyfold import MultilayerBootstrapNetwork
from polyfold._threads import n_threads, single_threaded_libraries, threaded, using_threads


def blas_numbers():
    """Threads of the libraries whose number belongs to the process; FAISS may bring one whose number does not."""
    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {library["num_threads"] for library in blas if library.get("threading_layer") != "openmp"}


@pytest.fixture(autouse=True)
def two_threads():
    # Set and let go: threadpool_limits would keep the number to this thread, and the others could not set it.
    before = threadpool_limits(2, user_api="blas")
    before.__enter__()
    threadpool_limits(None).__exit__(None, None, None)
    yield
    assert blas_numbers() == {2}
    before.__exit__(None, None, None)


def in_threads(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("n_jobs", [1, np.int64(2), 3])
def test_a_positive_number_of_jobs_is_that_many_threads(n_jobs):
    assert n_threads(n_jobs) == n_jobs


def test_negative_numbers_of_jobs_count_back_from_all_cores():
    assert n_threads(-1) == cpu_count()
    assert n_threads(-2) == max(1, cpu_count() - 1)
    assert n_threads(-1000) == 1


def test_none_is_every_core_that_the_process_may_use(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert n_threads(None) == cpu_count()
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert n_threads(None) == 1


def test_the_environment_may_ask_for_fewer(monkeypatch):
    monkeypatch.setattr("polyfold._threads.cpu_count", lambda: 8)
    for asked, expected in (("3", 3), ("20", 8), ("0", 8), ("", 8), ("many", 8), ("4,2", 8)):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        assert n_threads(None) == expected


def test_joblibs_settings_are_respected():
    with parallel_config(n_jobs=3):
        assert n_threads(None) == 3
        assert n_threads(2) == 2
    with parallel_config(n_jobs=-1):
        assert n_threads(None) == cpu_count()
    with parallel_config(backend="threading", n_jobs=1):
        assert n_threads(None) == 1


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_none_is_one_thread_in_a_worker_of_joblib(backend):
    assert Parallel(2, backend=backend)(delayed(n_threads)(None) for _ in range(4)) == [1] * 4
    assert Parallel(2, backend=backend)(delayed(n_threads)(3) for _ in range(2)) == [3] * 2


def test_a_loop_of_joblib_without_workers_is_no_worker(monkeypatch):
    monkeypatch.setattr("polyfold._threads._available", lambda: 5)
    assert Parallel(1)(delayed(n_threads)(None) for _ in range(2)) == [5, 5]


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_none_is_one_thread_in_a_worker_of_dask(scheduler):
    dask = pytest.importorskip("dask")
    tasks = [dask.delayed(n_threads, pure=False)(None) for _ in range(3)]
    assert dask.compute(*tasks, scheduler=scheduler) == (1, 1, 1)
    assert dask.compute(*tasks, scheduler="synchronous") == (n_threads(),) * 3


def test_none_is_one_thread_in_a_worker_of_distributed():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert client.submit(n_threads, None).result() == 1
        assert n_threads(None) == n_threads(), "the client itself is no worker"


def test_what_runs_within_an_estimator_has_its_threads():
    with using_threads(3):
        assert n_threads() == 3
        with using_threads(2):
            assert n_threads() == 2
        with using_threads(None):
            assert n_threads() == 3
    with pytest.raises(ZeroDivisionError), using_threads(7):
        raise ZeroDivisionError
    assert n_threads() != 7


def test_a_part_of_the_work_has_one_thread():
    assert list(threaded(lambda _: n_threads(), range(6), 3)) == [1] * 6


def test_scikit_learns_settings_reach_the_threads():
    with config_context(assume_finite=True):
        assert all(threaded(lambda _: get_config()["assume_finite"], range(4), 2))


def test_no_more_parts_are_done_than_are_about_to_be_asked_for():
    begun = []
    results = threaded(lambda i: begun.append(i) or i, range(1000), 2)
    assert next(results) == 0
    results.close()
    assert len(begun) <= 8


@pytest.mark.parametrize(
    ("n_jobs", "error"), [(0, ValueError), (1.5, TypeError), ("2", TypeError), (True, TypeError), (np.nan, TypeError)]
)
@pytest.mark.parametrize("use", [n_threads, lambda n: using_threads(n).__enter__(), lambda n: threaded(abs, [1], n)])
def test_a_wrong_number_of_jobs_names_parameter_rule_value_and_way_out(use, n_jobs, error):
    with pytest.raises(error, match=r"n_jobs must be .* other than 0, got .*; pass 1"):
        use(n_jobs)


def test_blas_is_limited_within_and_restored_after():
    with single_threaded_libraries():
        assert blas_numbers() == {1}
    assert blas_numbers() == {2}


def test_blas_is_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), single_threaded_libraries():
        raise ZeroDivisionError
    assert blas_numbers() == {2}


def test_nested_limits_end_with_the_outermost():
    with single_threaded_libraries():
        with single_threaded_libraries():
            assert blas_numbers() == {1}
        assert blas_numbers() == {1}
    assert blas_numbers() == {2}


def test_overlapping_limits_in_threads_end_with_the_number_before_the_first():
    entered, both, left = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def first():
        with single_threaded_libraries():
            entered.set()
            both.wait(10)
        seen.append(blas_numbers())
        left.set()

    def second():
        entered.wait(10)
        with single_threaded_libraries():
            both.set()
            left.wait(10)

    in_threads(first, second)
    assert seen == [{1}]
    assert blas_numbers() == {2}


class PerThread:
    """A library whose number of threads each thread sets for itself, as OpenBLAS built with OpenMP."""

    def __init__(self):
        self.own = threading.local()

    @property
    def num_threads(self):
        return getattr(self.own, "count", 2)

    def set_num_threads(self, count):
        self.own.count = count


def test_numbers_that_belong_to_a_thread_are_restored_there(monkeypatch):
    library, seen = PerThread(), []
    monkeypatch.setattr("polyfold._threads._libraries", lambda per_thread: [library] if per_thread else [])
    inside = threading.Barrier(2)

    def work():
        with single_threaded_libraries():
            inside.wait(10)
            seen.append(library.num_threads)
            inside.wait(10)
        seen.append(library.num_threads)

    in_threads(work, work)
    assert sorted(seen) == [1, 1, 2, 2]


def test_overlapping_fits_leave_blas_as_it_was(rng):
    X = rng.standard_normal((60, 4))
    barrier = threading.Barrier(3)

    def fit():
        barrier.wait(10)
        for seed in range(4):
            MultilayerBootstrapNetwork(
                n_classes=2, n_clusterings=20, feature_fraction=0.5, random_state=seed, n_jobs=2
            ).fit(X)

    in_threads(fit, fit, fit)
    assert blas_numbers() == {2}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_yield_in_order_with_one_thread_of_blas(n_jobs):
    assert list(threaded(lambda i: (i, blas_numbers()), range(20), n_jobs)) == [(i, {1}) for i in range(20)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_left_halfway_leave_blas_as_it_was(n_jobs):
    results = threaded(abs, range(20), n_jobs)
    next(results)
    deadline = time.monotonic() + 10
    while blas_numbers() != {2} and time.monotonic() < deadline:
        time.sleep(0.01)
    assert blas_numbers() == {2}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_thread_is_raised_and_blas_restored(n_jobs):
    with pytest.raises(ZeroDivisionError):
        list(threaded(lambda i: 1 // i, [1, 0, 1], n_jobs))
