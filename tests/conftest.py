import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("torch"):
    import torch

    torch.set_num_threads(1)  # two test processes with two threads each wait for one another


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
    """A cluster of two worker processes, shared by all tests that need real ones; it is nobody's default."""
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
