"""Strips of images: a query and its neighbours."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from polyfold._typing import Table
from polyfold._validation import check_count
from polyfold.report._display import COLORS, GridDisplay, Theme
from polyfold.report._images import as_images
from polyfold.report._scores import nearest, true_rows
from polyfold.report._views import as_rows, unwrap, views_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RetrievalDisplay(GridDisplay):
    """Show images of queries and their neighbours; true neighbours are framed.

    Parameters
    ----------
    queries : array-like of int of shape (q,)
        Rows of `images` to show.
    found : mapping of str to array-like of int of shape (q, k)
        Method to the rows it finds.
    images : array-like of shape (n, height, width) or (n, height, width, 3)
    truth : array-like of int of shape (q, k), default=None
        Rows that are to be found.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, and their Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> model = pf.ModularKernelPCA(3, 4, rank=100, random_state=0).fit(digits.data)
    >>> display = pf.report.RetrievalDisplay.from_estimator(model, digits.data, images=digits.images, queries=[0, 1])
    >>> list(display.found)
    ['all modules', 'module 0', 'module 1']
    """

    def __init__(
        self,
        queries: ArrayLike,
        found: Mapping[str, ArrayLike],
        *,
        images: ArrayLike,
        truth: ArrayLike | None = None,
    ):
        self.queries, self.found, self.images, self.truth = queries, found, images, truth

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Table,
        *,
        images: ArrayLike,
        queries: Sequence[int] = (0, 1, 2),
        n_neighbors: int = 8,
        n_views: int = 3,
        theme: Theme | None = None,
    ) -> Self:
        """Search the rows of `X` by a fitted estimator and by parts of it; true neighbours are those in `X`.

        Parameters
        ----------
        estimator : fitted representation
        X : {array-like, sparse matrix} of shape (n, n_features)
        images : array-like of shape (n, height, width) or (n, height, width, 3)
        queries : sequence of int, default=(0, 1, 2)
            Rows to look for, themselves left out.
        n_neighbors : int, default=8
        n_views : int, default=3
            Most parts that are searched.
        theme : {"light", "dark"} or None, default=None
        """
        model, rows = unwrap(estimator, X)
        parts = {view.name: view.rows for view in views_of(model, rows, most=n_views).views}
        options = {"images": images, "queries": queries, "n_neighbors": n_neighbors, "theme": theme}
        return cls.from_representation(parts, X=true_rows(model, rows), **options)

    @classmethod
    def from_representation(
        cls,
        parts: Mapping[str, ArrayLike],
        *,
        images: ArrayLike,
        X: Table | None = None,
        queries: Sequence[int] = (0, 1, 2),
        n_neighbors: int = 8,
        theme: Theme | None = None,
    ) -> Self:
        """Search representations of the same points, given by name; true neighbours are those in `X`, if given."""
        n = len(np.asarray(images))
        rows = np.array([check_count("queries", q, minimum=0, maximum=n - 1) for q in queries])
        k = check_count("n_neighbors", n_neighbors, maximum=n - 1)
        found = {name: nearest(as_rows(Z, n), rows, k) for name, Z in parts.items()}
        truth = None if X is None else nearest(X, rows, k)
        return cls(rows, found, images=images, truth=truth).plot(theme=theme)

    def _draw(self, plt: ModuleType) -> None:
        """Draw one strip per query and method."""
        queries = np.asarray(self.queries)
        tiles = as_images(self.images, len(np.asarray(self.images)))
        k = np.asarray(next(iter(self.found.values()))).shape[1]
        rows = len(queries) * len(self.found)
        axes = self._grid(plt, rows, k + 1, (0.6 * (k + 1) + 1.2, 0.66 * rows))
        strips = [(q, item) for q in range(len(queries)) for item in self.found.items()]
        for line, (q, (method, indices)) in zip(axes, strips, strict=True):
            for c, i in enumerate([queries[q], *np.asarray(indices)[q]]):
                hit = c > 0 and self.truth is not None and i in np.asarray(self.truth)[q]
                _tile(line[c], tiles[i], COLORS[2] if hit else None, 2.4 if hit else 0.6)
            line[0].set_ylabel(method, rotation=0, ha="right", va="center")
        axes[0, 0].set_title("query")
        axes[0, 1].set_title("found")


def _tile(ax: "Axes", image: NDArray, color: str | None, width: float) -> None:
    ax.imshow(image, cmap="gray")
    ax.set(xticks=[], yticks=[])
    ax.spines[["top", "right"]].set_visible(True)
    for spine in ax.spines.values():
        spine.set_linewidth(width)
        if color is not None:
            spine.set_color(color)
