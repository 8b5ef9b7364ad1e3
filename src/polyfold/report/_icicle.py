"""Icicle plot of nested clusters."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from polyfold._validation import import_extra
from polyfold.report._display import COLORS, SingleDisplay, Theme, ramp_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LETTERS = 7  # points


class ClusterTreeDisplay(SingleDisplay):
    """Plot the levels of a clustering as nested rectangles, coarse at the top.

    The width of a rectangle is the size of its cluster, and a cluster lies below the one that holds it. The colour is
    the stability of the cluster.

    Parameters
    ----------
    levels : sequence of array-like of shape (n_samples,)
        Nested labels, coarse to fine, such as `levels_` of a clusterer. Rows with the label -1 are left out.
    stability : sequence of array-like of shape (n_clusters,), default=None
        For every level, the stability of its clusters, between 0 and 1. None draws all clusters in one colour.
    scores : array-like of shape (n_levels,), default=None
        Stability of every level, written next to it.
    chosen : int, default=None
        Number of clusters of the level that is written in bold.
    names : mapping of int to sequence of str, default=None
        For a number of clusters, the names of the clusters of that level. Levels without names show the labels. Text
        that does not fit is left out.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> levels = [[0, 0, 0, 1, 1], [0, 0, 2, 1, 1]]
    >>> display = pf.report.ClusterTreeDisplay(levels, names={2: ["animals", "plants"]}).plot()
    >>> [float(bar.get_width()) for bar in display.ax_.patches]
    [0.6, 0.4, 0.4, 0.2, 0.4]
    """

    def __init__(
        self,
        levels: Sequence[ArrayLike],
        stability: Sequence[ArrayLike] | None = None,
        *,
        scores: ArrayLike | None = None,
        chosen: int | None = None,
        names: Mapping[int, Sequence[str]] | None = None,
    ):
        self.levels, self.stability, self.scores = levels, stability, scores
        self.chosen, self.names = chosen, names

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        names: Mapping[int, Sequence[str]] | None = None,
        ax: "Axes | None" = None,
        theme: Theme | None = None,
    ) -> Self:
        """Plot the levels of a fitted :class:`polyfold.BootstrapClustering` or :class:`polyfold.KernelClustering`."""
        check_is_fitted(estimator)
        model: Any = estimator
        if not hasattr(model, "levels_"):
            raise TypeError(f"This plot needs a clusterer with levels, such as KernelClustering, got {estimator!r}.")
        stability = [_level_stability(model, number) for number in model.level_scores_]
        scores = list(model.level_scores_.values())
        options: dict[str, Any] = {"scores": scores, "chosen": int(model.n_clusters_), "names": names}
        return cls(model.levels_, stability, **options).plot(ax, theme=theme)

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.0 + 0.42 * len(self.levels)

    def _draw(self, ax: "Axes") -> None:
        levels = [np.asarray(labels) for labels in self.levels]
        if not levels:
            raise ValueError("levels must hold at least one partition, got none; the points may all be equal.")
        numbers = [int(labels.max()) + 1 for labels in levels]
        names = _checked(self.names or {}, numbers)
        ramp = ramp_on(ax)
        texts = []
        for depth, (number, (clusters, starts, width)) in enumerate(zip(numbers, _rectangles(levels), strict=True)):
            colors: Any = COLORS[0]
            if self.stability is not None:
                colors = ramp(np.asarray(self.stability[depth], dtype=float)[clusters])
            paper = ax.get_facecolor()
            bars = ax.bar(starts, 0.94, width, depth - 0.47, align="edge", color=colors, edgecolor=paper)
            shown = names.get(number, range(number))
            for bar, cluster in zip(bars, clusters, strict=True):
                bar.set_linewidth(min(0.7, 60 * bar.get_width()))  # a border must not hide a narrow cluster
                texts.append((bar, str(shown[cluster])))
        self._label(ax, numbers)
        if self.stability is not None:
            mappable = import_extra("matplotlib.cm", "plot").ScalarMappable(cmap=ramp)
            mappable.set_clim(0, 1)
            ax.figure.colorbar(mappable, ax=ax, label="stability of the cluster", pad=0.02)
        _write(ax, texts)

    def _label(self, ax: "Axes", numbers: list[int]) -> None:
        scores = np.full(len(numbers), np.nan) if self.scores is None else np.asarray(self.scores, dtype=float)
        words = [
            f"{number}" if np.isnan(score) else f"{number} ({score:.2f})"
            for number, score in zip(numbers, scores, strict=True)
        ]
        ax.set_yticks(range(len(numbers)), words)
        for number, text in zip(numbers, ax.get_yticklabels(), strict=True):
            text.set_fontweight("bold" if number == self.chosen else "normal")
        label = "clusters" if self.scores is None else "clusters (stability of the level)"
        ax.set(xlim=(0, 1), ylim=(len(numbers) - 0.5, -0.5), xlabel="fraction of the rows", ylabel=label)
        ax.tick_params(axis="y", length=0)
        ax.spines[["left", "bottom"]].set_visible(False)


def _checked(names: Mapping[int, Sequence[str]], numbers: list[int]) -> Mapping[int, Sequence[str]]:
    for number, given in names.items():
        if number not in numbers:
            raise ValueError(f"names must be of levels with {numbers} clusters, got some for {number} clusters.")
        if len(given) != number:
            raise ValueError(f"names must hold {number} names for {number} clusters, got {len(given)}.")
    return names


def _rectangles(levels: list[NDArray]) -> list[tuple[NDArray, NDArray, NDArray]]:
    """For every level, its clusters from left to right, where they begin, and their widths."""
    rows = np.stack([labels[levels[-1] >= 0] for labels in levels])
    # Sorted by the coarse level first, so that every cluster is one run of rows.
    rows = rows[:, np.lexsort(rows[::-1])]
    n = rows.shape[1]
    rectangles = []
    for labels in rows:
        starts = np.flatnonzero(np.diff(labels, prepend=-1))
        rectangles.append((labels[starts], starts / n, np.diff(starts, append=n) / n))
    return rectangles


def _level_stability(model: Any, number: int) -> NDArray:
    """Stability of the clusters of one level, from the table of all clusters of the tree: (number,)."""
    table, labels = model.tree_, model.cluster_tree_.cut(number)
    last = 2 * len(labels) - number  # later merges belong to coarser levels
    nodes = np.arange(len(labels))
    while (below := table["parent"][nodes] < last).any():
        nodes = np.where(below, table["parent"][nodes], nodes)
    stability = np.empty(number)
    stability[labels] = table["stability"][nodes]
    return stability


def _write(ax: "Axes", texts: list[tuple[Any, str]]) -> None:
    """Write text into rectangles that are wide enough for it."""
    figure: Any = ax.figure.figure  # the whole figure, if the axes are in a part of it
    figure.draw_without_rendering()  # widths are known once the layout is
    brightness = np.array([0.3, 0.59, 0.11])
    for bar, words in texts:
        room = bar.get_window_extent().width - 2
        if room < _LETTERS / 2:
            continue
        ink = "black" if np.array(bar.get_facecolor()[:3]) @ brightness > 0.5 else "white"
        place = bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height() / 2
        text = ax.text(*place, words, ha="center", va="center", size=_LETTERS, color=ink, parse_math=False)
        if text.get_window_extent().width > room:
            text.remove()
