"""Pictures of modular representations; arrays in, matplotlib figures out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyfold._validation import import_extra

INK, ACCENT = "#1d2433", "#c8553d"
CALM = ("#4c78a8", "#59a14f", "#b07aa1", "#9c755f")


def _axes(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, NDArray]:
    """Figure without global state, and its axes as an array."""
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def plot_diversity(
    grid: ArrayLike, scores: Mapping[str, ArrayLike], baselines: Mapping[str, Mapping[str, float]]
) -> Any:
    """Plot scores over λ, beside those of methods that have no λ.

    Parameters
    ----------
    grid : array-like of shape (g,)
        Values of λ, on an axis that widens towards 1.
    scores : mapping of str to array-like of shape (g,)
        One panel per score.
    baselines : mapping of str to mapping of str to float
        Method to its scores.

    Returns
    -------
    figure : matplotlib Figure
    """
    figure, axes = _axes(1, len(scores), (5.2 * len(scores), 3.6))
    places = np.arange(len(np.asarray(grid)))
    for ax, (score, values) in zip(axes[0], scores.items(), strict=True):
        ax.plot(places, values, "o-", color=ACCENT, lw=2, label="modular kernel PCA")
        for (method, row), color in zip(baselines.items(), CALM, strict=False):
            ax.axhline(row[score], color=color, ls="--", lw=1.3, label=method)
        ax.set_xticks(places, [f"{lam:g}" for lam in np.asarray(grid)])
        ax.set(xlabel="diversity λ", ylabel=score)
        ax.spines[["top", "right"]].set_visible(False)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False, fontsize=8)
    return figure


def plot_modules(modules: ArrayLike, y: ArrayLike, *, names: Sequence[str] | None = None) -> Any:
    """Plot the first two dimensions of every module, coloured by class.

    Parameters
    ----------
    modules : array-like of shape (n_modules, n, n_components)
    y : array-like of shape (n,)
    names : sequence of str, default=None
        Titles of the panels.

    Returns
    -------
    figure : matplotlib Figure
    """
    modules = np.asarray(modules)
    figure, axes = _axes(1, len(modules), (2.9 * len(modules), 3.0))
    for m, (ax, Z) in enumerate(zip(axes[0], modules, strict=True)):
        ax.scatter(Z[:, 0], Z[:, 1], c=np.asarray(y), cmap="tab10", s=5, alpha=0.7, linewidths=0)
        ax.set_title(f"module {m + 1}" if names is None else names[m], fontsize=10, color=INK)
        ax.set(xticks=[], yticks=[])
        ax.spines[["top", "right", "left", "bottom"]].set_color("#c9cfdb")
    return figure


def plot_allocation(allocations: Mapping[float, ArrayLike], n_modules: int) -> Any:
    """Plot in how many modules every kernel direction is held, one line per λ.

    Parameters
    ----------
    allocations : mapping of float to array-like of shape (k,)
        λ to the shares n_j.
    n_modules : int

    Returns
    -------
    figure : matplotlib Figure
    """
    figure, axes = _axes(1, 1, (5.6, 3.4))
    ax = axes[0, 0]
    shades = np.linspace(0.25, 1, len(allocations))
    colormap = import_extra("matplotlib", "plot").colormaps["OrRd"]
    for (lam, share), shade in zip(allocations.items(), shades, strict=True):
        share = np.asarray(share)
        ax.step(np.arange(1, share.size + 1), share, where="mid", color=colormap(shade), lw=1.8, label=f"λ = {lam:g}")
    ax.set(xlabel="kernel principal direction", ylabel="modules that hold it", ylim=(0, n_modules * 1.05))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return figure


def plot_retrieval(
    queries: ArrayLike, found: Mapping[str, ArrayLike], truth: ArrayLike, images: ArrayLike, shape: tuple[int, int]
) -> Any:
    """Show queries and the images found for them; true neighbours are framed.

    Parameters
    ----------
    queries : array-like of shape (q, h * w)
    found : mapping of str to array-like of int of shape (q, k)
        Method to the rows it found.
    truth : array-like of int of shape (q, k)
    images : array-like of shape (N, h * w)
    shape : (h, w)

    Returns
    -------
    figure : matplotlib Figure
    """
    queries, truth, images = np.asarray(queries), np.asarray(truth), np.asarray(images)
    k, rows = np.asarray(next(iter(found.values()))).shape[1], len(queries) * len(found)
    figure, axes = _axes(rows, k + 1, (0.72 * (k + 1) + 1.4, 0.78 * rows))
    for r, (q, (method, indices)) in enumerate((q, item) for q in range(len(queries)) for item in found.items()):
        tiles = [queries[q], *images[np.asarray(indices)[q]]]
        for c, (ax, tile) in enumerate(zip(axes[r], tiles, strict=True)):
            ax.imshow(tile.reshape(shape), cmap="gray_r")
            ax.set(xticks=[], yticks=[])
            hit = c > 0 and np.asarray(indices)[q, c - 1] in truth[q]
            color = CALM[1] if hit else ("#c9cfdb" if c else INK)
            for spine in ax.spines.values():
                spine.set(color=color, linewidth=2.2 if hit or not c else 0.8)
        axes[r, 0].set_ylabel(method, rotation=0, ha="right", va="center", fontsize=8)
    return figure
