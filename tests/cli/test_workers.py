"""Fits on a Dask cluster, here of two workers in this process."""

from pathlib import Path

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

SMALL = "--set n_modules=3 --set n_components=2"


@pytest.fixture(scope="module")
def address():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "protocol": "tcp"}
    with distributed.LocalCluster(**options, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Let files have several parts."""
    for name, value in (("BLOCK_BYTES", 1), ("MIN_ROWS", 60)):
        monkeypatch.setattr(f"polyfold.cli._formats.{name}", value)


@pytest.mark.parametrize("data", ["digits.npy", "digits.zarr", "digits.npz", "iris.parquet", "iris", "iris.csv"])
def test_models_equal_those_of_a_stream(call, address, shared, data):
    if data == "digits.zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.open_array("digits.zarr", mode="w", shape=(120, 64), chunks=(35, 64), dtype="f8")
        array[:] = np.load(shared / "digits.npy")
    elif data == "iris.parquet":
        pd.read_csv(shared / "iris.csv").to_parquet("iris.parquet", row_group_size=40)
    elif data == "iris":
        Path("iris", "more").mkdir(parents=True)
        rows = pd.read_csv(shared / "iris.csv")
        for name, part in (("0", rows[:40]), ("1", rows[40:90]), ("more/2", rows[90:])):
            part.to_parquet(f"iris/{name}.parquet")
    else:
        data = f":{data}"
    extra = "--target species" if "iris" in data else ""
    for name, where in (("here", "--stream"), ("there", f"--cluster {address}")):
        call(f"fit {data} {SMALL} {extra} {where} -o {name}.polyfold")
        call(f"transform {name}.polyfold {data} -o {name}.npy")
    here, there = np.load("here.npy"), np.load("there.npy")
    assert len(here) == len(there) == (150 if "iris" in data else 120)
    np.testing.assert_allclose(there, here, atol=1e-6 * np.abs(here).max())


def test_what_a_cluster_cannot_do_is_refused(refused, address, monkeypatch):
    monkeypatch.setattr("polyfold.cli._fitting.PATIENCE", 1)
    refused("fit :digits.npy --cluster tcp://127.0.0.1:9 -o m.polyfold", "did not answer within 1 s")
    refused("fit :digits.npy --cluster nonsense://x -o m.polyfold", "--cluster must be the address")
    options = f"--target y --model ModularClassifier --cluster {address}"
    refused(f"fit :digits.npz {options} -o m.polyfold", "--cluster fits models that learn without targets")
    with distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as empty:
        refused(f"fit :digits.npy --cluster {empty.scheduler_address} -o m.polyfold", "has no workers")
