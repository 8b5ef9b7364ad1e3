"""Pictures of what diversity does to modules [Reeve2015, Figs. 2 to 8]; every function draws on given axes.

Axes come from matplotlib (extra ``plot``); without `axes` a new figure is made.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyfold._validation import import_extra

# Distinct for colour-blind readers (Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")


def plot_ensemble_errors(
    diversity: ArrayLike,
    individual: ArrayLike,
    ensemble: ArrayLike,
    *,
    baseline: float | None = None,
    title: str = "",
    axes: Any = None,
) -> Any:
    """Plot the error of single modules and of their vote against λ.

    Parameters
    ----------
    diversity : array-like of shape (n_grid,)
        Values of λ, ascending.
    individual, ensemble : array-like of shape (n_grid,)
        Errors as shares, see :func:`polyfold.metrics.ensemble_errors`.
    baseline : float, default=None
        Error of a rival ensemble, drawn as a level line.
    title : str, default=""
    axes : matplotlib Axes, default=None

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = _axes(axes)
    axes.plot(diversity, 100 * np.asarray(individual), "s--", color=COLORS[1], label="single modules", ms=4)
    axes.plot(diversity, 100 * np.asarray(ensemble), "o-", color=COLORS[0], label="ensemble", ms=4)
    if baseline is not None:
        axes.axhline(100 * baseline, color=COLORS[7], ls=":", label="bagging")
    return _finish(axes, title, "diversity λ", "test error, %")


def plot_module_correlations(
    diversity: ArrayLike, fidelity: ArrayLike, correlation: ArrayLike, *, title: str = "", axes: Any = None
) -> Any:
    """Plot the distance correlation of modules with the input, and with each other, against λ.

    Parameters
    ----------
    diversity : array-like of shape (n_grid,)
        Values of λ, ascending.
    fidelity : array-like of shape (n_grid,)
        Mean of :func:`polyfold.metrics.module_fidelity`.
    correlation : array-like of shape (n_grid,)
        :func:`polyfold.metrics.module_correlation`.
    title : str, default=""
    axes : matplotlib Axes, default=None

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = _axes(axes)
    axes.plot(diversity, fidelity, "s--", color=COLORS[1], label="modules and input", ms=4)
    axes.plot(diversity, correlation, "o-", color=COLORS[0], label="modules among each other", ms=4)
    return _finish(axes, title, "diversity λ", "distance correlation")


def plot_class_densities(values: ArrayLike, y: ArrayLike, *, title: str = "", axes: Any = None) -> Any:
    """Plot how the classes lie along a one-dimensional code.

    Parameters
    ----------
    values : array-like of shape (n,)
        Code of one module.
    y : array-like of shape (n,)
        Classes.
    title : str, default=""
    axes : matplotlib Axes, default=None

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = _axes(axes)
    values, y = np.ravel(values), np.asarray(y)
    grid = np.linspace(values.min(), values.max(), 200)
    for color, label in zip(_cycle(len(np.unique(y))), np.unique(y), strict=True):
        density = _density(values[y == label], grid) * np.mean(y == label)
        axes.fill_between(grid, density, color=color, alpha=0.35, lw=0)
        axes.plot(grid, density, color=color, label=f"class {label}")
    axes.set_ylim(0, 1.25 * axes.get_ylim()[1])  # room for the legend
    _finish(axes, title, "code", "density")
    axes.legend(frameon=False, fontsize=8, loc="upper center", ncols=min(4, len(np.unique(y))))
    return axes


def plot_decision_boundary(
    predict: Callable[[np.ndarray], ArrayLike],
    X: ArrayLike,
    y: ArrayLike,
    *,
    title: str = "",
    resolution: int = 200,
    axes: Any = None,
) -> Any:
    """Plot where a classifier of points in the plane changes its mind.

    Parameters
    ----------
    predict : callable
        Maps points (n, 2) to labels (n,).
    X : array-like of shape (n, 2)
        Points shown.
    y : array-like of shape (n,)
        Their classes.
    title : str, default=""
    resolution : int, default=200
        Grid points along each side.
    axes : matplotlib Axes, default=None

    Returns
    -------
    axes : matplotlib Axes
    """
    axes = _axes(axes)
    X, y = np.asarray(X), np.asarray(y)
    margin = 0.05 * np.ptp(X, axis=0)
    sides = [np.linspace(low, high, resolution) for low, high in zip(X.min(0) - margin, X.max(0) + margin, strict=True)]
    plane = np.stack(np.meshgrid(*sides), axis=-1)
    labels = np.unique(y)
    found = np.searchsorted(labels, np.asarray(predict(plane.reshape(-1, 2)))).reshape(resolution, resolution)
    colors = _cycle(len(labels))
    levels = np.arange(len(labels) + 1) - 0.5
    axes.contourf(*sides, found, levels=levels, colors=colors, alpha=0.2)
    axes.contour(*sides, found, levels=levels[1:-1], colors="0.3", linewidths=1)
    for color, label in zip(colors, labels, strict=True):
        axes.scatter(*X[y == label].T, s=6, color=color, label=f"class {label}", lw=0)
    axes.set_aspect("equal")
    _finish(axes, title, "", "")
    axes.legend(fontsize=8, loc="upper right", framealpha=0.85, edgecolor="none", markerscale=2)
    return axes


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    import_extra("matplotlib", "plot")
    from matplotlib.figure import Figure

    # A figure of its own, not one of pyplot's: nothing has to be closed.
    return Figure(figsize=(4.5, 3.4), layout="constrained").subplots()


def _finish(axes: Any, title: str, x_label: str, y_label: str) -> Any:
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return axes


def _cycle(n: int) -> list[str]:
    return [COLORS[i % len(COLORS)] for i in range(n)]


def _density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Gaussian kernel density on `grid`, bandwidth by Scott's rule; a spike where all values are equal."""
    width = max(float(values.std()) * len(values) ** -0.2, 1e-3 * float(np.ptp(grid)), 1e-12)
    weights = np.exp(-0.5 * ((grid[:, None] - values) / width) ** 2)
    return weights.mean(axis=1) / (width * np.sqrt(2 * np.pi))
