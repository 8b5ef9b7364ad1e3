"""Every example of the gallery runs, on few rows, draws a picture and warns of nothing."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
NEEDS_TORCH = {"plot_deep_modules"}


def test_the_gallery_is_there():
    assert len(EXAMPLES) >= 14
    assert all((path.parent / "GALLERY_HEADER.rst").exists() for path in EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.torch] if path.stem in NEEDS_TORCH else [])
        for path in EXAMPLES
    ],
)
def test_example(path, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setenv("POLYFOLD_SMALL", "1")
    monkeypatch.chdir(tmp_path)  # what an example writes
    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(path))
    assert plt.get_fignums()
    plt.close("all")
