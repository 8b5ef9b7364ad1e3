"""Messages speak of options, and of nothing that only Python shows."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("pandas")


def test_parameters_are_called_by_their_options(refused):
    refused("cluster :digits.npy -n 500 -o g.npy", "error: -n/--clusters must be <=")
    refused("cluster :digits.npy -n 0 -o g.npy", "error: -n/--clusters must be an integer >= 1, got 0")
    refused("cluster :digits.npy -n 3 --set noise=2 -o g.npy", "error: --set noise must be")
    refused("fit :digits.npy --set n_modules=0 -o m.polyfold", "error: --set n_modules must be an integer >= 1")
    refused("map :digits.npy --set layout=tsne --set n_components=3 -o m.npy", "pass --set layout=umap")


def test_a_guess_is_told_without_attributes(call, rng):
    np.save("noise.npy", rng.standard_normal((60, 4)))
    call("cluster noise.npy --set n_init=1 --set network__n_clusterings=20 -o g.npy")
    assert "note: -n/--clusters auto found" in call.notes
    assert "_scores_" not in call.notes


def test_the_package_runs_as_a_module():
    words = [sys.executable, "-m", "polyfold"]
    assert (
        "polyfold, version" in subprocess.run([*words, "--version"], capture_output=True, text=True, check=True).stdout
    )
    assert subprocess.run([*words, "wings"], capture_output=True, check=False).returncode == 2


def test_closed_streams_are_no_error(shared, tmp_path):
    """As of programs without a console."""
    words = f"{sys.executable} -m polyfold transform {shared}/digits.polyfold {shared}/digits.npy -o z.npy --json"
    assert subprocess.run(f"{words} >&- 2>&-", shell=True, cwd=tmp_path, check=False).returncode == 0
    assert subprocess.run(f"{words} --drop 99 >&- 2>&-", shell=True, cwd=tmp_path, check=False).returncode == 2
