import inspect
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.catalog import Entry

FOLDERS = {"browser": "browser", "papers": "slow"}  # folder of tests -> marker
# Modules of tests that take long as a whole, mostly by compilation or by fits of hundreds of rows.
SLOW = {
    *("test_architecture", "test_bootstrap_clustering", "test_docs", "test_examples", "test_neighbor_graphs"),
    *("test_onnx", "test_operator", "test_outputs", "test_recall", "test_search", "test_searches", "test_sequence"),
    *("test_smoother", "test_streams", "test_training_rows", "test_workers", "test_classifier", "test_demo"),
    *("test_aliasing", "test_commands", "test_saving", "test_tables"),
}
DASK_FIXTURES = {"processes", "workers"}
DASK_CONTAINERS = {"dask", "frame"}


MARKS = {"torch": "torch", "dask": "dask", "distributed": "dask"}  # imported package -> marker


@cache
def imported(module):
    """Return the markers of the packages that a test module imports at its top."""
    packages = {value.__name__.partition(".")[0] for value in vars(module).values() if isinstance(value, ModuleType)}
    return {MARKS[name] for name in packages & MARKS.keys()}


@cache
def skips_without(function):
    """Return the markers of the packages without which a test skips itself."""
    return {MARKS[name] for name in re.findall(r'importorskip\("(\w+)"', inspect.getsource(function)) if name in MARKS}


def marks(item):
    """Return the markers that follow from a test's folder, imports, fixtures and parameters."""
    callspec = getattr(item, "callspec", None)
    values = list(callspec.params.values()) if callspec else []
    if item.path.parent.name in FOLDERS:
        yield FOLDERS[item.path.parent.name]
    if item.path.stem in SLOW:
        yield "slow"
    if DASK_FIXTURES & set(item.fixturenames) or any(isinstance(v, str) and v in DASK_CONTAINERS for v in values):
        yield "dask"
    if any(isinstance(value, Entry) and value.needs_torch for value in values):
        yield "torch"
    yield from imported(item.module) | skips_without(item.function)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by -m
def pytest_collection_modifyitems(items):
    for item in items:
        if isinstance(item, pytest.Function) and item.path.is_relative_to(Path(__file__).parent):
            for name in marks(item):
                item.add_marker(name)
        if item.get_closest_marker("torch") and find_spec("torch") is None:
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))


def pytest_collection_finish(session):
    """Give torch one thread: two test processes with two threads each wait for one another."""
    if find_spec("torch") and any(item.get_closest_marker("torch") for item in session.items):
        import torch

        torch.set_num_threads(1)


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def blobs(rng):
    """Three clusters in five dimensions, 90 points."""
    centres = rng.standard_normal((3, 5)) * 1.5
    return np.concatenate([rng.standard_normal((30, 5)) + c for c in centres])


@pytest.fixture(scope="session")
def processes():
    """A Dask cluster of two worker processes, shared by all tests that need real ones; it is not the default."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def workers(processes):
    """A client of these processes, which Dask uses during a test."""
    import distributed

    with distributed.Client(processes, set_as_default=False) as client, client.as_current():
        client.wait_for_workers(2, timeout=20)
        yield client
