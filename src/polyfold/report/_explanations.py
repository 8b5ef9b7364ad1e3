"""Plots of an explanation: strengths and effects of features, images, and values along the axes."""

import textwrap
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polyfold.report._display import COLORS, GridDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Bars of each part, panels in a row, and most panels.
BARS, ACROSS, PANELS = 6, 3, 24


class Explained(Protocol):
    """What is plotted of an explanation."""

    tables: dict[str, dict[str, NDArray]]
    names: dict[str, str]
    walk: NDArray | None
    strips: NDArray | None
    means: dict[str, NDArray]
    feature_names: list[str]
    images: tuple[int, int] | None
    scale: NDArray

    def name_of(self, part: str) -> str:
        """Return the name of a part, such as "axis 0"."""
        ...

    def rows_of(self, table: str, part: str) -> NDArray:
        """Return the rows of a table that belong to a part."""
        ...


class ExplanationDisplay(GridDisplay):
    """Plot an explanation, one panel for each axis or cluster.

    Parameters
    ----------
    explanation : Explanation
        From :func:`polyfold.explain`.
    kind : {"axes", "clusters", "walk"}
        Strengths of features for each axis (or of pixels, as a map), effects for each cluster (or its mean image), or
        images or means of features along each axis.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, and their Figure
        After `plot`.
    """

    def __init__(self, explanation: Explained, *, kind: str = "axes"):
        self.explanation, self.kind = explanation, kind

    def _draw(self, plt: ModuleType) -> None:
        """Draw all panels, at most 24."""
        draw = {"axes": self._plot_axes, "clusters": self._plot_clusters, "walk": self._plot_walk}[self.kind]
        draw(plt)

    def _panels(self, plt: Any, count: int, size: tuple[float, float]) -> list["Axes"]:
        count = min(count, PANELS)
        across = min(ACROSS, count)
        down = -(-count // across)
        panels = self._grid(plt, down, across, (size[0] * across, size[1] * down)).ravel().tolist()
        for ax in panels[count:]:
            ax.set_axis_off()
        return panels[:count]

    def _plot_axes(self, plt: Any) -> None:
        shown, table = self.explanation, self.explanation.tables["axes"]
        numbers = np.unique(table["axis"])
        panels = self._panels(plt, len(numbers), (3.6, 2.4))
        for k, ax in zip(numbers, panels, strict=False):
            shown_rows = np.flatnonzero(table["axis"] == k)
            if shown.images is not None:
                strength = dict(zip(table["feature"][shown_rows], table["strength"][shown_rows], strict=True))
                _image(ax, np.array([strength[name] for name in shown.feature_names]), shown.images, "magma", 0)
            else:
                shown_rows = shown_rows[(table["repeats"][shown_rows] == "")][:BARS]
                _bars(ax, table["feature"][shown_rows], table["strength"][shown_rows], table["sign"][shown_rows])
                ax.axvline(float(table["null"][shown_rows[0]]), color="gray", linestyle=":", linewidth=1)
                ax.set_xlim(0, 1)
                ax.set_xlabel("fraction of variance explained")
            ax.set_title(_wrapped(f"axis {k}: {shown.name_of(f'axis {k}')}"), loc="left")

    def _plot_clusters(self, plt: Any) -> None:
        shown = self.explanation
        keys = [key for key in shown.names if "cluster " in key]
        for key, ax in zip(keys, self._panels(plt, len(keys), (3.6, 2.4)), strict=False):
            if shown.images is not None:
                _image(ax, shown.means[key], shown.images, "gray")
            else:
                self._cluster_bars(ax, key)
            ax.set_title(_wrapped(f"{key}: {shown.names[key]}"), loc="left")

    def _cluster_bars(self, ax: "Axes", key: str) -> None:
        table = self.explanation.tables["clusters"]
        shown_rows = self.explanation.rows_of("clusters", key)
        words = shown_rows[table["kind"][shown_rows] == "word"]
        shown_rows = words if len(words) else shown_rows
        shown_rows = shown_rows[np.argsort(table["rank"][shown_rows], kind="stable")][:BARS]
        pairs = zip(table["feature"][shown_rows], table["value"][shown_rows], strict=True)
        effect = table["effect"][shown_rows]
        _bars(ax, [f"{feature} {value}".strip() for feature, value in pairs], effect, np.sign(effect))
        ends = np.abs(np.vstack([effect - table["low"][shown_rows], table["high"][shown_rows] - effect]))
        ax.errorbar(effect, range(len(shown_rows)), xerr=ends, fmt="none", ecolor="gray", elinewidth=1)
        ax.set_xlabel("standardised difference, 95 % interval")

    def _plot_walk(self, plt: Any) -> None:
        shown = self.explanation
        if shown.images is None or shown.strips is None:
            for k, ax in enumerate(self._panels(plt, len(np.asarray(shown.walk)), (3.6, 2.6))):
                self._walk_lines(ax, k)
            return
        count, steps, _ = shown.strips.shape
        axes = self._grid(plt, count, steps, (1.1 * steps + 0.6, 1.35 * count))
        layout: Any = self.figure_.get_layout_engine()
        layout.set(rect=(0, 0, 1, 1 - 0.15 / count), hspace=0.15)  # space for the names
        titles = []
        for k, line in enumerate(axes):
            low, high = shown.strips.min(), shown.strips.max()
            for ax, image in zip(line, shown.strips[k], strict=True):
                ax.imshow(image.reshape(shown.images), cmap="gray", vmin=low, vmax=high)
                ax.set(xticks=[], yticks=[])
            text = _wrapped(f"axis {k}: {shown.name_of(f'axis {k}')}", 90)
            titles.append(line[0].text(0, 1.05, text, transform=line[0].transAxes, va="bottom", in_layout=False))
        # Titles are wider than images: they must not push these apart, but a tight bounding box must hold them.
        self.figure_.draw_without_rendering()
        self.figure_.set_layout_engine("none")
        for title in titles:
            title.set_in_layout(True)

    def _walk_lines(self, ax: "Axes", k: int) -> None:
        """Draw the means of the first features of an axis, in their standard deviations, along the axis."""
        shown, table = self.explanation, self.explanation.tables["axes"]
        shown_rows = np.flatnonzero((table["axis"] == k) & (table["kind"] == "number") & (table["repeats"] == ""))[:4]
        for i, name in enumerate(table["feature"][shown_rows]):
            j = shown.feature_names.index(name)
            means = np.asarray(shown.walk)[k][:, j]
            scale = float(shown.scale[j]) or 1.0
            ax.plot((means - means.mean()) / scale, marker="o", markersize=3, color=COLORS[i], label=name)
        ax.set(xlabel=f"along axis {k}, from low to high", ylabel="mean, in standard deviations", xticks=[])
        if len(shown_rows):
            ax.legend(frameon=False)


def _bars(ax: "Axes", names: Any, lengths: NDArray, signs: NDArray) -> None:
    colors = [COLORS[1] if sign < 0 else COLORS[0] for sign in signs]
    ax.barh(range(len(lengths)), lengths, color=colors, height=0.7)
    ax.set_yticks(range(len(lengths)), [textwrap.shorten(str(name), 28, placeholder="…") for name in names])
    ax.invert_yaxis()


def _image(ax: "Axes", values: NDArray, shape: tuple[int, int], colors: str, low: float | None = None) -> None:
    ax.imshow(values.reshape(shape), cmap=colors, vmin=low)
    ax.set(xticks=[], yticks=[])


def _wrapped(text: str, width: int = 46) -> str:
    return "\n".join(textwrap.wrap(text, width)[:3])
