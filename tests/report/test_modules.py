"""Plots of modules: what is drawn is what was given."""

import sys

import numpy as np
import pytest
from scipy.integrate import trapezoid

from polyfold.exceptions import MissingExtraError
from polyfold.report._modules import plot_ensemble_errors


def test_missing_matplotlib_is_one_sentence_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'polyfold\[plot\]'"):
        plot_ensemble_errors([0, 1], [0.1, 0.2], [0.1, 0.1])


pytest.importorskip("matplotlib")

from polyfold.report import (  # noqa: E402
    plot_class_densities,
    plot_decision_boundary,
    plot_module_correlations,
)

GRID = [0.0, 0.5, 0.9]


def lines(axes):
    return {line.get_label(): np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()}


def test_errors_are_drawn_in_per_cent_with_the_rival():
    drawn = lines(plot_ensemble_errors(GRID, [0.1, 0.2, 0.3], [0.1, 0.08, 0.05], baseline=0.09, title="digits"))
    np.testing.assert_allclose(drawn["single modules"], [10, 20, 30])
    np.testing.assert_allclose(drawn["ensemble"], [10, 8, 5])
    np.testing.assert_allclose(drawn["bagging"], 9)


def test_correlations_are_drawn_against_diversity():
    axes = plot_module_correlations(GRID, [0.9, 0.8, 0.7], [1.0, 0.6, 0.3])
    np.testing.assert_allclose(lines(axes)["modules among each other"], [1.0, 0.6, 0.3])
    assert axes.get_xlabel() == "diversity λ"


def test_densities_integrate_to_the_share_of_the_class():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(0, 1, 300), rng.normal(12, 1, 100)])
    axes = plot_class_densities(values, np.repeat([0, 1], [300, 100]))
    curves = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    areas = {label: trapezoid(curve[:, 1], curve[:, 0]) for label, curve in curves.items()}
    assert areas["class 0"] == pytest.approx(0.75, abs=0.03)
    assert areas["class 1"] == pytest.approx(0.25, abs=0.03)


def test_boundary_lies_where_the_labels_change():
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    y = (X[:, 0] > 0.2).astype(int)
    axes = plot_decision_boundary(lambda points: (points[:, 0] > 0.2).astype(int), X, y, resolution=101)
    boundary = np.concatenate([path.vertices for path in axes.collections[1].get_paths()])
    np.testing.assert_allclose(boundary[:, 0], 0.2, atol=0.03)


def test_draws_on_the_axes_it_is_given():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert plot_ensemble_errors(GRID, GRID, GRID, axes=axes) is axes
