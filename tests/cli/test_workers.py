"""Commands on a Dask cluster, here of two workers in this process."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

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
    monkeypatch.setattr("polyfold.cli._preparation.BLOCK_BYTES", 2000)
    for name, value in (("BLOCK_BYTES", 1), ("MIN_ROWS", 60)):
        monkeypatch.setattr(f"polyfold.cli._inputs.{name}", value)


@pytest.mark.parametrize("data", ["digits.npy", "digits.zarr", "digits.npz", "iris.parquet", "iris", "iris.csv"])
def test_models_and_coordinates_equal_those_of_a_stream(call, address, shared, data):
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
    call(f"transform here.polyfold {data} -o here.npy")
    figures = call(f"transform there.polyfold {data} --cluster {address} -o there.npy --json")
    here, there = np.load("here.npy"), np.load("there.npy")
    assert figures["rows"] == len(here) == len(there)
    np.testing.assert_allclose(there, here, atol=1e-6 * np.abs(here).max())


def test_neighbours_equal_those_of_one_machine(call, address):
    for where, name in (("", "here"), (f"--cluster {address} --deadline 20", "there")):
        figures = call(f"search :digits.polyfold :digits.npy {where} -k 4 -o {name}.npz --json")
        call(f"search :digits.polyfold :digits.npy --queries :digits.npy {where} -k 2 -o {name}-queries.npy")
    assert figures["coverage"] == 1
    assert figures["neighbors"] == 4
    np.testing.assert_array_equal(np.load("there.npz")["indices"], np.load("here.npz")["indices"])
    np.testing.assert_array_equal(np.load("there-queries.npy"), np.load("here-queries.npy"))


def test_clusters_equal_those_of_one_machine(call, address):
    load_iris(as_frame=True).data.to_csv("flowers.csv", index=False)
    shape = "--prepare none --set n_init=5 --set network__n_clusterings=20 --set network__max_samples=100"
    call(f"cluster flowers.csv -n 3 {shape} --save g.polyfold -o here.npy")
    call(f"cluster flowers.csv -n 3 {shape} --cluster {address} -o there.npy")
    np.testing.assert_array_equal(np.load("there.npy"), np.load("here.npy"))
    call("cluster flowers.csv --with g.polyfold -o here.npy")
    call(f"cluster flowers.csv --with g.polyfold --cluster {address} -o there.npy")
    np.testing.assert_array_equal(np.load("there.npy"), np.load("here.npy"))


def test_what_a_cluster_cannot_do_is_refused(refused, address, monkeypatch):
    monkeypatch.setattr("polyfold.cli._preparation.PATIENCE", 1)
    refused("fit :digits.npy --cluster tcp://127.0.0.1:9 -o m.polyfold", "did not answer within 1 s")
    refused("cluster :digits.npy --cluster 10 -o g.npy", "the number of clusters is -n/--clusters")
    refused("fit :digits.npy --cluster nonsense://x -o m.polyfold", "--cluster must be the address")
    refused("search :digits.polyfold :digits.npy --deadline 2 -o f.npy", "--deadline needs --cluster")
    options = f"--target y --model ModularClassifier --cluster {address}"
    refused(f"fit :digits.npz {options} -o m.polyfold", "--cluster fits models that learn without targets")
    with distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as empty:
        refused(f"fit :digits.npy --cluster {empty.scheduler_address} -o m.polyfold", "has no workers")
