import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from polyfold import demo

pytest.importorskip("PIL")


@pytest.fixture(scope="module")
def small():
    """The demo on few rows: settings that replace its own."""
    digits = load_digits()
    few = Bunch(**{name: digits[name][:300] for name in ("data", "target", "images")})
    return {"M": 3, "H": 4, "RANK": 60, "GRID": (0.0, 0.8), "HEADS": 150, "SIZE": 16, "load_digits": lambda: few}


def test_demo_prints_four_tables_and_writes_one_page(small, tmp_path, capsys, monkeypatch):
    for name, value in small.items():
        monkeypatch.setattr(demo, name, value)
    path = demo.run_demo(tmp_path)
    printed = capsys.readouterr().out
    tabs = ["Axes", "Clusters", "Modules", "Reconstruction"]
    assert [line for line in printed.splitlines() if line in tabs] == tabs
    for method in ("Laplacian eigenmaps", "k-means", "one embedding of 12", "PCA", "polyfold, 3 modules of 4"):
        assert method in printed
    assert path.stat().st_size < 5_000_000


def test_every_tab_has_a_note_a_comparison_and_no_jargon(small, monkeypatch):
    for name, value in small.items():
        monkeypatch.setattr(demo, name, value)
    for make in (demo.axes, demo.clusters, demo.modules, demo.reconstruction):
        content = make().content
        assert content["note"].startswith("polyfold ")
        assert len(content["table"]) >= 3
        assert not re.search(
            r"λ|NMI|PSNR|kernel|spectral|eigenvalue|precision", content["note"] + json.dumps(content["table"])
        )


def test_axes_are_shown_next_to_plain_ones(small, monkeypatch):
    for name, value in small.items():
        monkeypatch.setattr(demo, name, value)
    axes = demo.axes().content["axes"]
    assert [axis["name"] for axis in axes] == [f"{m}axis {k}" for m in ("", "Laplacian eigenmaps, ") for k in range(3)]
    for axis in axes:
        assert axis["strip"]["count"] == 7
        assert all(re.search("bright|dark", end) for end in axis["ends"])


def test_clusters_are_named_by_their_digits(small, monkeypatch):
    for name, value in small.items():
        monkeypatch.setattr(demo, name, value)
    content = demo.clusters().content
    (column,) = [column for column in content["columns"] if column["name"] == "cluster"]
    assert all(name.startswith("digit ") for name in column["names"])
    assert all(len(level["names"]) == len(level["classes"]) for level in content["levels"])
    assert len(set(column["names"])) == len(np.unique(column["classes"]))
