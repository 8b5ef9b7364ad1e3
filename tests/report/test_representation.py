import sys

import numpy as np
import pytest

from polyfold import report
from polyfold.exceptions import MissingExtraError

pytest.importorskip("matplotlib")


def test_diversity_has_a_panel_per_score_and_a_line_per_method():
    figure = report.plot_diversity([0, 0.9], {"a": [1, 2], "b": [3, 4]}, {"rival": {"a": 1, "b": 2}})
    assert [ax.get_ylabel() for ax in figure.axes] == ["a", "b"]
    assert len(figure.axes[0].lines) == 2


def test_modules_have_a_panel_each(rng):
    figure = report.plot_modules(rng.standard_normal((3, 20, 2)), np.arange(20) % 2)
    assert [ax.get_title() for ax in figure.axes] == ["module 1", "module 2", "module 3"]


def test_allocation_has_a_line_per_diversity():
    figure = report.plot_allocation({0.5: [2, 1, 0], 0.9: [1, 1, 1]}, 2)
    assert len(figure.axes[0].lines) == 2


def test_retrieval_frames_true_neighbours(rng):
    images = rng.uniform(size=(10, 4))
    figure = report.plot_retrieval(images[:1], {"ours": [[1, 2]]}, [[2, 3]], images, (2, 2))
    widths = [ax.spines["top"].get_linewidth() for ax in figure.axes]
    assert widths[1] < widths[2]


def test_missing_matplotlib_names_the_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'polyfold\[plot\]'"):
        report.plot_allocation({0.5: [1]}, 1)
