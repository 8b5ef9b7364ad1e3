"""An HTML report of a fitted model: named clusters on a map, linked views, selections, sliders, neighbours."""

import base64
import gzip
import hashlib
import html
import json
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from polyfold._files import write_file
from polyfold._threads import using_threads
from polyfold._typing import RandomState, Table
from polyfold._validation import check_count
from polyfold.report._columns import Columns
from polyfold.report._explanations import Explained
from polyfold.report._page_names import describe_axes, name_clusters, name_view
from polyfold.report._points import Points
from polyfold.report._scores import Scorer, true_rows
from polyfold.report._steps import (
    SliderStep,
    diversity_path_of,
    pack_points,
    slider_grid,
    steps_of,
    thin_path,
    with_neighbors,
)
from polyfold.report._views import Model, Views, as_rows, unwrap

# A page stays below 5 MB: what the frame and the drawing library leave of it.
_PAGE_BYTES = 4_600_000
_NEIGHBORS, _VIEWS = 6, 6
_OWN_SCRIPTS = ("data", "profiles", "panels", "labels", "details", "selection", "explorer")
SCRIPTS = ("regl-scatterplot.min.js", *(f"{name}.js" for name in _OWN_SCRIPTS))


class Arrays:
    """Arrays in a row of bytes; equal ones are stored once."""

    def __init__(self) -> None:
        self._known: dict[bytes, dict[str, Any]] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: NDArray) -> dict[str, Any]:
        """Store an array of bytes, uint16 or uint32, and return where it is."""
        content = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        key = hashlib.blake2b(content + array.dtype.str.encode()).digest()
        if key not in self._known:
            self._known[key] = {"at": self._size, "bits": 8 * array.dtype.itemsize, "size": int(array.size)}
            self._parts.append(content + bytes(-len(content) % 4))
            self._size += len(self._parts[-1])
        return self._known[key]

    def content(self) -> bytes:
        """Return all bytes."""
        return b"".join(self._parts)


def document(title: str, chapters: Sequence[dict[str, Any]], arrays: Arrays) -> str:
    """Return the page as text."""
    frame = _file("explorer.html")
    scripts = "\n".join(f"<script>{_file(name)}</script>" for name in SCRIPTS)
    header = json.dumps({"title": title, "chapters": chapters}, separators=(",", ":"), allow_nan=False).encode()
    header += b" " * (-len(header) % 4)
    blob = len(header).to_bytes(4, "little") + header + arrays.content()
    data = base64.b64encode(gzip.compress(blob, 6, mtime=0)).decode()
    parts = {"TITLE": html.escape(title), "STYLE": _file("explorer.css"), "DATA": data, "SCRIPTS": scripts}
    for name, part in parts.items():
        frame = frame.replace(f"<!--{name}-->", part)
    return frame


def _file(name: str) -> str:
    return resources.files("polyfold.report").joinpath("page", name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Chapter:
    """Hold one model with its points, as a page shows it; see :func:`chapter`.

    Parameters
    ----------
    content : dict
        What JSON can hold.
    steps : list
        The steps of the slider.
    explanation : Explanation, default=None
        Names of the views.
    """

    content: dict[str, Any]
    steps: list[SliderStep]
    explanation: Explained | None = None


def explore(
    model: Model,
    X: Table,
    *,
    y: ArrayLike | None = None,
    images: ArrayLike | None = None,
    columns: Columns | None = None,
    texts: Sequence[str] | None = None,
    explanation: Explained | None = None,
    path: str | Path = "report.html",
    title: str | None = None,
    views: Mapping[str, ArrayLike] | None = None,
    diversities: Sequence[float] | None = None,
    max_points: int = 10_000,
    random_state: RandomState = 0,
) -> Path:
    """Write an HTML report of a fitted model as one file that needs no server.

    Clusterers are shown by a map with the names of the clusters, other models by plots of their modules, layers or
    pairs of coordinates. Selected rows are highlighted in all plots, and described by the columns, words or mean images
    by which they differ from the rest. Models with `diversity_path` have a slider over λ, clusterers with `levels_` one
    over the levels.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n, c)
        Any polyfold or scikit-learn representation, a pipeline that ends in one, or the coordinates themselves.
    X : {array-like, sparse matrix, data frame} of shape (n, n_features)
        The rows to show, as the model's `transform` takes them.
    y : array-like of shape (n,), default=None
        Classes or numbers to colour by. The name is that of the series, or of the entry of `columns` that is the same
        array.
    images : array-like of shape (n, height, width) or (n, height, width, 3), default=None
        One image for each row, shown as thumbnails and mean images.
    columns : data frame or mapping of str to array-like of shape (n,), default=None
        Values of every row, by which selections are described. Numbers, dates and columns with at most 40 different
        values can also colour the points. None takes the columns of `X`; those of an array only if there are neither
        images nor texts.
    texts : sequence of str, default=None
        One text for each row. Selections are then described by words and typical texts.
    explanation : Explanation, default=None
        From :func:`polyfold.explain` for the same model. Clusters, axes and modules are shown with their names. Pass
        ``levels=True`` there for the names of the clusters of all levels.
    path : str or Path, default="report.html"
    title : str, default=None
        None is the name of the model's class.
    views : mapping of str to array-like of shape (n, c), default=None
        Further representations of the same points, to compare with. One named "map" comes first.
    diversities : sequence of float, default=None
        Values of λ on the slider, in addition to that of the model. None takes a grid for the closed form. Iterative
        solvers have no slider by default, because they are fitted again for every value.
    max_points : int, default=10000
        Rows that are shown. If there are more, they are drawn at random.
    random_state : int, RandomState or None, default=0
        Seed of the rows that are drawn, of those that scores are computed from, and of the map.

    Returns
    -------
    path : Path

    Notes
    -----
    Up to 10,000 rows the file stays below 5 MB. If necessary, neighbours are stored for the model's own λ only, values
    of λ are left out, and thumbnails are small. Scores are computed from at most 1,000 rows; a row is never its own
    neighbour.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> X, y, images = digits.data[:200], digits.target[:200], digits.images[:200]
    >>> model = pf.ModularKernelPCA(3, 4, rank=100, random_state=0).fit(X)
    >>> folder = getfixture("tmp_path")
    >>> path = pf.report.explore(model, X, y=y, images=images, path=folder / "digits.html")
    >>> path.stat().st_size < 1_000_000
    True
    """
    only = chapter(
        model, X, y=y, images=images, columns=columns, texts=texts, explanation=explanation, views=views,
        diversities=diversities, max_points=max_points, random_state=random_state,
    )  # fmt: skip
    return write_page([only], path, title=title or only.content["name"])


@using_threads(None)  # one thread in BLAS and OpenMP: their pools slow one another down
def chapter(
    model: Model,
    X: Table,
    *,
    y: ArrayLike | None = None,
    images: ArrayLike | None = None,
    columns: Columns | None = None,
    texts: Sequence[str] | None = None,
    explanation: Explained | None = None,
    compared: Mapping[str, Explained] | None = None,
    views: Mapping[str, ArrayLike] | None = None,
    diversities: Sequence[float] | None = None,
    max_points: int = 10_000,
    random_state: RandomState = 0,
    name: str | None = None,
    note: str | None = None,
    table: Sequence[Sequence[str]] = (),
    max_bytes: int = _PAGE_BYTES,
) -> Chapter:
    """Prepare one model for a page of several, see :func:`write_page`.

    Parameters
    ----------
    model, X, y, images, columns, texts, explanation, views, diversities, max_points, random_state : optional
        As in :func:`explore`.
    compared : mapping of str to Explanation, default=None
        Explanations of other models of the same rows. Their axes are shown next to those of the model.
    name : str, default=None
        None is the name of the model's class.
    note : str, default=None
        What was done, in a sentence. None describes the model and the data.
    table : sequence of rows of str, default=()
        A comparison; the first row is its head.
    max_bytes : int, default=4600000
        Largest size of the chapter in bytes.

    Returns
    -------
    chapter : Chapter
    """
    rng = check_random_state(random_state)
    total = _num_samples(X)
    rows = _draw_rows(total, max_points, rng)
    if isinstance(model, np.ndarray):
        model = as_rows(model, total)[rows]
    shown_X = _safe_indexing(X, rows) if len(rows) < total else X
    inner, inner_X = unwrap(model, shown_X)
    points = Points(X, rows, y=y, columns=columns, texts=texts, views=views)
    if columns is None and texts is None and images is None and not hasattr(X, "columns"):
        points.add_features(inner, shown_X, getattr(explanation, "feature_names", ()))
    if hasattr(inner, "labels_"):
        points.add_clusters(inner, inner_X)
    if images is not None:
        points.add_images(images, model, shown_X)
    content = points.describe()
    if explanation is not None:
        name_clusters(content["columns"], content["levels"], explanation)
    budget = max_bytes - len(json.dumps(points.sheets)) - len(json.dumps(content)) // 3
    steps, start = _slider(inner, inner_X, points, slider_grid(inner, diversities), budget, rng)
    shown = steps[0].views
    content |= {
        "name": name or type(inner).__name__.replace("ndarray", "coordinates"),
        "note": _sentence(inner, shown_X, points, shown) if note is None else note,
        "axes": describe_axes({"": explanation, **(compared or {})}),
        "table": [list(map(str, row)) for row in table],
        "total": total,
        "start": start,
        "parts": shown.count,
        "shown": shown.shown,
        "kind": shown.kind,
        "parameters": _parameters(model[-1] if isinstance(model, Pipeline) else model),
    }
    return Chapter(content | points.sheets, steps, explanation)


def _draw_rows(total: int, most: int, rng: np.random.RandomState) -> NDArray:
    """Return the numbers of the rows to show, ascending: all of them, or `most` at random."""
    if total < 3:
        raise ValueError(f"X must have at least 3 rows to be explored, got {total}.")
    check_count("max_points", most, minimum=3)
    return np.sort(rng.permutation(total)[:most]) if total > most else np.arange(total)


def _slider(
    model: Model,
    X: Table,
    points: Points,
    diversities: Sequence[float] | None,
    budget: int,
    rng: np.random.RandomState,
) -> tuple[list[SliderStep], int]:
    """Return the steps of the slider that fit into `budget` bytes, and the number of the step of the model itself."""
    n, n_views = len(points.rows), _VIEWS + len(points.views)
    view_bytes, neighbor_bytes = 4 * n * n_views, 8 * n * n_views * _NEIGHBORS // 3
    most = max(1, (budget - neighbor_bytes) // view_bytes)
    path = thin_path(diversity_path_of(model, diversities), model, most)
    scorer = Scorer(true_rows(model, X), n, points.classes, rng)
    steps = steps_of(path, X, points.views, scorer, rng, most=_VIEWS)
    start = next(i for i, other in enumerate(path) if other is model)
    has_room = budget > len(steps) * (view_bytes + neighbor_bytes)
    for i in range(len(steps)) if has_room else [start]:
        steps[i] = with_neighbors(steps[i], min(_NEIGHBORS, n - 1))
    return steps, start


def write_page(chapters: Sequence[Chapter], path: str | Path, *, title: str) -> Path:
    """Write chapters as one HTML file.

    Parameters
    ----------
    chapters : sequence of Chapter
    path : str or Path
    title : str

    Returns
    -------
    path : Path
    """
    arrays = Arrays()
    contents = [
        part.content | {"steps": [_packed(step, part.explanation, arrays) for step in part.steps]} for part in chapters
    ]
    path = Path(path)
    write_file(path, document(title, contents, arrays).encode())
    return path


def _sentence(model: Model, X: Table, points: Points, views: Views) -> str:
    """Describe the model and the data in one sentence."""
    name = "given coordinates" if isinstance(model, np.ndarray) else type(model).__name__
    rows = (
        f"{points.total:,} rows with {np.shape(X)[1]:,} columns" if len(np.shape(X)) == 2 else f"{points.total:,} rows"
    )
    if hasattr(model, "labels_"):
        count = len(set(np.unique(model.labels_).tolist()) - {-1})
        levels = list(model.level_scores_) if points.levels else []
        slider = f"; the slider shows {levels[0]} to {levels[-1]}" if len(levels) > 1 else ""
        return f"{rows}, grouped by similarity into {count} clusters{slider} ({name})."
    parts = {"modules": "modules, each a different view of the rows", "layers": "layers"}.get(views.kind, "coordinates")
    return f"{rows}, described by {views.count} {parts} ({name})."


def _parameters(model: Model) -> list[list[str]]:
    if not hasattr(model, "get_params"):
        return []
    return [[str(k), _short(v)] for k, v in model.get_params(deep=False).items()]


def _short(value: object) -> str:
    text = f"{value:g}" if isinstance(value, numbers.Real) and not isinstance(value, bool | int) else repr(value)
    return text if len(text) <= 200 else text[:199] + "…"


def _packed(step: SliderStep, explanation: Explained | None, arrays: Arrays) -> dict[str, Any]:
    n = len(step.views.whole)
    kind = np.uint16 if n <= 65_536 else np.uint32
    planes = [pack_points(view.plane) for view in step.views.views]
    title, values = step.bars
    return {
        "diversity": step.diversity,
        "figures": [[name, float(f"{value:.6g}")] for name, value in step.figures.items()],
        "allocation": None if step.allocation is None else [float(f"{v:.4g}") for v in step.allocation],
        "bars": {"title": title, "values": [[name, float(f"{v:.4g}")] for name, v in values.items()]},
        "views": [
            {"name": view.name, "points": arrays.add(packed), "beyond": beyond} | name_view(view, explanation)
            for view, (packed, beyond) in zip(step.views.views, planes, strict=True)
        ],
        "neighbors": [[name, arrays.add(neighbors.astype(kind))] for name, neighbors in step.neighbors.items()],
    }
