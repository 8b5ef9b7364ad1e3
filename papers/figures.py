"""Draw all panels of a result in one figure."""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np

COLORS = ("#2c6fbb", "#c0392b", "#2a9d5b", "#8e44ad", "#e08e0b", "#16a0a0", "#7f8c8d", "#d6568f", "#5d4037", "#9aa800")
_DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1)))
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(panels: list[dict[str, Any]], path: Path) -> None:
    """Write the figure as a PNG file; needs matplotlib."""
    import matplotlib
    from matplotlib.figure import Figure

    columns = _columns(len(panels))
    rows = -(-len(panels) // columns)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(3.3 * columns, 2.7 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax, panel in zip(axes, panels, strict=False):
            _draw_panel(ax, panel)
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        _legend(figure, axes[: len(panels)])
        drawn = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # letters that the font lacks are drawn as boxes
            figure.savefig(drawn, dpi=110)
    save_small(drawn, path)


def save_small(image: Any, path: Path) -> None:
    """Write an image file or stream as a PNG with 64 colours, about a third of the size."""
    from PIL import Image

    with Image.open(image) as whole:
        whole.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


def _columns(count: int) -> int:
    """Return the number of columns: three or four, whichever leaves fewer axes empty."""
    return min(count, min((3, 4), key=lambda columns: (-count % columns, columns)) if count > 4 else count)


def _draw_panel(ax: Any, panel: dict[str, Any]) -> None:
    ax.set_title(panel["title"])
    if panel["image"] is not None:
        ax.imshow(np.asarray(panel["image"], dtype=float), cmap="gray")
        ax.set_axis_off()
        return
    ticks = list(dict.fromkeys(x for curve in panel["curves"] for x in curve["x"]))
    if panel["xscale"] == "even":
        names = [f"{x:g}" if isinstance(x, int | float) else str(x) for x in ticks]
        ax.set_xticks(range(len(ticks)), names, rotation=0 if sum(map(len, names)) < 24 else 60)
    elif panel["xscale"] == "log":
        ax.set_xscale("log")
    ax.set_yscale(panel["yscale"])
    n_bars = sum(curve["style"] == "bar" for curve in panel["curves"])
    bars = iter(range(n_bars))
    for i, curve in enumerate(panel["curves"]):
        x = [ticks.index(value) for value in curve["x"]] if panel["xscale"] == "even" else curve["x"]
        offset = (next(bars) - (n_bars - 1) / 2, n_bars) if curve["style"] == "bar" else (0.0, 1)
        _draw_curve(ax, curve, x, i, offset)
    ax.set(xlabel=panel["x"], ylabel=panel["y"])


def _draw_curve(ax: Any, curve: dict[str, Any], x: list[Any], i: int, offset: tuple[float, int]) -> None:
    color, label = COLORS[i % len(COLORS)], curve["label"]
    if curve["style"] == "level":
        for y in curve["y"]:
            ax.axhline(y, color=color, ls=_DASHES[i % len(_DASHES)], lw=1.3, label=label)
    elif curve["style"] == "points":
        looks = (
            {"color": color} if curve["color"] is None else {"c": curve["color"], "cmap": _color_map(curve["color"])}
        )
        ax.scatter(x, curve["y"], s=4, linewidths=0, label=label, **looks)
    elif curve["style"] == "bar":
        shift, n = offset
        ax.bar([v + 0.8 * shift / n for v in x], curve["y"], 0.8 / n, yerr=curve["spread"], color=color, label=label)
    else:
        ax.plot(x, curve["y"], "-o" if len(x) < 25 else "-", color=color, ms=3, lw=1.4, label=label)
        if curve["spread"] is not None:
            y, s = np.array(curve["y"], dtype=float), np.array(curve["spread"], dtype=float)
            ax.fill_between(x, y - s, y + s, color=color, alpha=0.15, lw=0)


def _color_map(values: list[Any]) -> str:
    return "tab10" if all(isinstance(value, int) for value in values) else "viridis"


def _legend(figure: Any, axes: Any) -> None:
    """One legend below for all panels that share their names, else one in each."""
    named = [ax.get_legend_handles_labels() for ax in axes]
    widest = max(named, key=lambda pair: len(pair[1]))
    if not widest[1] or widest[1] == [""]:
        return
    if len(named) > 1 and all(set(names) <= set(widest[1]) for _, names in named):
        room = max(1, int(3.3 * min(len(named), 4) / (0.45 + 0.08 * max(map(len, widest[1])))))  # inches by names
        figure.legend(*widest, loc="outside lower center", ncols=min(len(widest[1]), room), frameon=False)
        return
    for ax, (_, names) in zip(axes, named, strict=True):
        if any(names):
            ax.legend(frameon=False)
