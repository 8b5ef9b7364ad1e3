"""Files to call the command line with, and the call."""

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

SMALL = ["--set", "n_modules=3", "--set", "n_components=2"]


@pytest.fixture(name="run", scope="session")
def run_():
    """The command line; skipped if its requirements are not installed."""
    for package in ("click", "rich", "pandas"):
        pytest.importorskip(package)
    from polyfold.cli._main import run

    return run


@pytest.fixture(scope="session")
def shared(run, tmp_path_factory):
    """A folder with digits in several kinds of files, a table with missing values, and a model of each."""
    folder = tmp_path_factory.mktemp("data")
    X, y = load_digits(return_X_y=True)
    X, y = X[:120], y[:120]
    np.save(folder / "digits.npy", X)
    np.save(folder / "y.npy", y)
    np.savez(folder / "digits.npz", X=X, y=y)
    csr = sp.csr_matrix(X)
    parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": np.array(csr.shape)}
    np.savez(folder / "sparse.npz", **parts, y=y)
    frame = load_iris(as_frame=True).frame.rename(columns={"target": "species"})
    frame["site"] = np.where(np.arange(150) % 3 == 0, "north", "south")
    frame["wild"] = np.arange(150) % 2 == 0
    frame.loc[5, "site"] = None
    frame.loc[7, "petal width (cm)"] = np.nan
    frame.to_csv(folder / "iris.csv", index=False)
    for data, more in (("digits.npy", []), ("iris.csv", ["--target", "species"])):
        model = folder / data.replace(data[-4:], ".polyfold")
        assert run(["fit", str(folder / data), *SMALL, *more, "-o", str(model)]) == 0
    return folder


@pytest.fixture
def call(run, shared, tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; ":name" is a file of the shared folder. `call.notes` is standard error."""
    monkeypatch.chdir(tmp_path)

    def call(text, *more, code=0):
        words = [str(shared / word[1:]) if word.startswith(":") else word for word in (*text.split(), *more)]
        assert run(words) == code, capsys.readouterr().err
        out = capsys.readouterr()
        call.notes = out.err
        return out.err if code else (json.loads(out.out) if "--json" in words else out.out)

    return call


@pytest.fixture
def refused(call):
    """Assert exit code 2, one sentence that contains `match`, and that no file appeared."""

    def refused(text, match, *more):
        before = set(os.listdir())
        error = call(text, *more, code=2)
        assert error.startswith("error: ")
        assert error.count("\n") == 1
        assert match in error
        assert set(os.listdir()) == before

    return refused
