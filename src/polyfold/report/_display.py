"""What all plots have in common: colours, light and dark, and the interface of scikit-learn's displays."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyfold._validation import check_choice, import_extra
from polyfold.report._columns import MOST_CLASSES, encode

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.typing import ColorType

# Twelve colours that remain apart for colour-blind readers, on white and on black (after M. Krzywinski).
COLORS = (
    "#008df9", "#ff6e3a", "#009f81", "#ff5aaf", "#ffc33b", "#8400cd",
    "#a40122", "#00c2f9", "#00d9b2", "#c98bd9", "#9f0162", "#e20134",
)  # fmt: skip
# Beyond twelve classes colours come again with another shape.
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
RAMP = "cividis"
# Colour of points whose number is missing or infinite.
UNKNOWN = "#e20134"


def _inks(paper: str, ink: str, line: str) -> dict[str, str]:
    text = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")
    papers = ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor")
    lines = ("axes.edgecolor", "legend.edgecolor", "grid.color")
    return {**dict.fromkeys(text, ink), **dict.fromkeys(papers, paper), **dict.fromkeys(lines, line)}


# Names of the colour schemes.
Theme: TypeAlias = Literal["light", "dark"]
THEMES = {"light": _inks("#ffffff", "#1d2433", "#8b93a5"), "dark": _inks("#14171d", "#e8ebf1", "#6b7488")}
# Legible when a figure is half a column wide.
_LETTERS = {
    "font.size": 9,
    "axes.titlesize": 10,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@contextmanager
def drawing(theme: Theme | None) -> Iterator[ModuleType]:
    """Draw in "light" or "dark", or with None in the colours that matplotlib is set to; gives pyplot."""
    matplotlib = import_extra("matplotlib", "plot")
    if theme is not None:
        check_choice("theme", theme, tuple(THEMES), hint="or None for matplotlib's own settings")
    with matplotlib.rc_context({**_LETTERS, **(THEMES[theme] if theme else {})}):
        yield import_extra("matplotlib.pyplot", "plot")


class Display:
    """Base of the displays: `plot` draws what was given to the constructor and returns the display."""

    figure_: "Figure"
    ax_: "Axes"


class GridDisplay(Display):
    """Base of the displays that draw several `Axes` on a new figure: subclasses have `_draw`, which calls `_grid`."""

    def plot(self, *, theme: Theme | None = None) -> Self:
        """Draw on a new figure, in the colours of `theme`."""
        with drawing(theme) as plt:
            self._draw(plt)
        return self

    def _grid(self, plt: ModuleType, rows: int, columns: int, size: tuple[float, float]) -> NDArray:
        self.figure_ = plt.figure(figsize=size, layout="constrained")
        self.axes_ = self.figure_.subplots(rows, columns, squeeze=False)
        self.ax_ = self.axes_[0, 0]
        return self.axes_

    def _draw(self, plt: ModuleType) -> None:
        raise NotImplementedError


class SingleDisplay(Display):
    """Base of the displays that draw on one `Axes`: subclasses have `_draw`, and `_size` in inches."""

    def plot(self, ax: "Axes | None" = None, *, theme: Theme | None = None) -> Self:
        """Draw on `ax`, or on a new figure, in the colours of `theme`."""
        with drawing(theme) as plt:
            self.ax_ = plt.figure(figsize=self._size(), layout="constrained").subplots() if ax is None else ax
            self.figure_ = self.ax_.figure
            self._draw(self.ax_)
        return self

    def _size(self) -> tuple[float, float]:
        return 4.6, 3.4

    def _draw(self, ax: "Axes") -> None:
        raise NotImplementedError


def colors_on(ax: "Axes") -> list[str]:
    """Return the colours of classes, legible on the paper of `ax`."""
    to_hex = import_extra("matplotlib.colors", "plot").to_hex
    return [to_hex(color) for color in _legible([_rgb(color) for color in COLORS], ax)]


def ramp_on(ax: "Axes") -> "Colormap":
    """Return the colour map of numbers, legible on the paper of `ax`, with another colour for missing values."""
    levels = import_extra("matplotlib", "plot").colormaps[RAMP](np.linspace(0, 1, 256))[:, :3]
    return import_extra("matplotlib.colors", "plot").ListedColormap(_legible(levels, ax)).with_extremes(bad=UNKNOWN)


def _legible(colors: ArrayLike, ax: "Axes") -> NDArray:
    """On dark paper, mix dark colours with white."""
    colors = np.asarray(colors, dtype=float)
    brightness = np.array([0.3, 0.59, 0.11])
    if _rgb(ax.get_facecolor()) @ brightness > 0.5:
        return colors
    share = 0.7 * np.maximum(0.5 - colors @ brightness, 0)[:, None]
    return colors + share * (1 - colors)


def _rgb(color: "ColorType") -> NDArray:
    return np.array(import_extra("matplotlib.colors", "plot").to_rgb(color))


def scatter_classes(
    ax: "Axes", plane: NDArray, y: ArrayLike | None, *, size: float, legend: bool = True, few: int = MOST_CLASSES
) -> "PathCollection | None":
    """Draw points of the plane by class, by number with a colour bar, or in one colour; returns a colour mapping."""
    if y is None:
        ax.scatter(*plane.T, s=size, color=COLORS[0], alpha=0.7, linewidths=0)
        return None
    coded = encode("y", y, few=few)
    if coded["kind"] == "number":
        values = np.array([v if isinstance(v, float) else np.nan for v in coded["values"]])
        return ax.scatter(*plane.T, c=values, cmap=ramp_on(ax), s=size, alpha=0.8, linewidths=0, plotnonfinite=True)
    codes = np.asarray(coded["values"]) if coded["kind"] == "class" else np.zeros(len(plane), dtype=int)
    colors = colors_on(ax)
    for i, name in enumerate(coded.get("classes", ["points"])):
        marker = MARKERS[i // len(COLORS) % len(MARKERS)]
        points = plane[codes == i].T
        ax.scatter(*points, s=size, color=colors[i % len(COLORS)], marker=marker, alpha=0.8, linewidths=0, label=name)
    if legend:
        place_legend(ax)
    return None


def place_legend(ax: "Axes") -> None:
    """Put the legend next to the axes."""
    handles, names = ax.get_legend_handles_labels()
    if len(names) > 1:
        columns = -(-len(names) // 14)
        ax.legend(
            handles, names, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, markerscale=2, ncols=columns
        )


def point_size(n: int) -> float:
    """Area of a point such that n of them neither vanish nor hide one another."""
    return float(np.clip(8000 / n, 3, 20))
