"""Scatter plots: one representation, or several of the same points side by side (extra ``plot``)."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from polyfold._typing import Table
from polyfold._validation import check_count
from polyfold.report._columns import encode
from polyfold.report._display import (
    GridDisplay,
    SingleDisplay,
    Theme,
    colors_on,
    place_legend,
    point_size,
    scatter_classes,
)
from polyfold.report._images import as_images
from polyfold.report._views import as_rows, two_columns, unwrap, views_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Most images on a plot.
_THUMBNAILS = 50


class ScatterOptions(TypedDict, total=False):
    """Options that :meth:`RepresentationDisplay.from_estimator` passes on."""

    y: ArrayLike | None
    images: ArrayLike | None
    ax: "Axes | None"
    theme: Theme | None


class RepresentationDisplay(SingleDisplay):
    """Plot two coordinates as a scatter, or one as densities.

    Parameters
    ----------
    Z : array-like of shape (n, 1) or (n, 2)
    y : array-like of shape (n,), default=None
        Classes, which get a legend, or numbers, which get a colour bar.
    images : array-like of shape (n, height, width) or (n, height, width, 3), default=None
        Images, some of which are drawn as thumbnails in free areas.
    names : sequence of str, default=("coordinate 0", "coordinate 1")
        Of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> display = pf.report.RepresentationDisplay.from_estimator(pf.KernelEmbedding(2).fit(X), X, y=y)
    >>> display.ax_.get_xlabel()
    'coordinate 0'
    """

    def __init__(
        self,
        Z: ArrayLike,
        *,
        y: ArrayLike | None = None,
        images: ArrayLike | None = None,
        names: Sequence[str] = ("coordinate 0", "coordinate 1"),
    ):
        self.Z, self.y, self.images, self.names = Z, y, images, names

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Table,
        *,
        components: Sequence[int] = (0, 1),
        **options: Unpack[ScatterOptions],
    ) -> Self:
        """Transform `X` by a fitted estimator and plot; options are those of :meth:`from_representation`."""
        model, rows = unwrap(estimator, X)
        return cls.from_representation(views_of(model, rows).whole, components=components, **options)

    @classmethod
    def from_representation(
        cls,
        Z: ArrayLike,
        *,
        components: Sequence[int] = (0, 1),
        y: ArrayLike | None = None,
        images: ArrayLike | None = None,
        ax: "Axes | None" = None,
        theme: Theme | None = None,
    ) -> Self:
        """Plot one or two columns of a representation.

        Parameters
        ----------
        Z : array-like of shape (n, c)
        components : sequence of one or two int, default=(0, 1)
            Columns; of a representation with a single one, that.
        y, images : array-like, default=None
            As in the class.
        ax : matplotlib Axes, default=None
        theme : {"light", "dark"} or None, default=None
            None keeps matplotlib's settings.
        """
        Z = as_rows(Z, len(np.asarray(Z)))
        wanted = [check_count("components", c, minimum=0, maximum=Z.shape[1] - 1) for c in components[: Z.shape[1]]]
        names = [f"coordinate {c}" for c in wanted]
        return cls(Z[:, wanted], y=y, images=images, names=names).plot(ax, theme=theme)

    def _draw(self, ax: "Axes") -> None:
        Z = as_rows(self.Z, len(np.asarray(self.Z)))
        if Z.shape[1] == 1:
            _densities(ax, Z[:, 0], self.y)
            ax.set(xlabel=self.names[0], ylabel="density", ylim=(0, None))
            return
        colors = scatter_classes(ax, Z[:, :2], self.y, size=point_size(len(Z)))
        if colors is not None:
            self.figure_.colorbar(colors, ax=ax)
        if self.images is not None:
            _thumbnails(ax, Z, as_images(self.images, len(Z)))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])


class ViewsDisplay(GridDisplay):
    """Plot modules, layers or pairs of coordinates next to each other.

    Parameters
    ----------
    views : mapping of str to array-like of shape (n, 2)
        Planes by name.
    y : array-like of shape (n,), default=None
        Classes or numbers.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, and their Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> network = pf.MultilayerBootstrapNetwork(n_classes=3, n_clusterings=50, random_state=0).fit(X)
    >>> display = pf.report.ViewsDisplay.from_estimator(network, X, y=y)
    >>> [ax.get_title() for ax in display.axes_.flat]
    ['layer 1 (74 centres)', 'layer 2 (37 centres)', 'layer 3 (18 centres)', 'layer 4 (9 centres)']
    """

    def __init__(self, views: Mapping[str, ArrayLike], *, y: ArrayLike | None = None):
        self.views, self.y = views, y

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Table,
        *,
        y: ArrayLike | None = None,
        n_views: int = 6,
        theme: Theme | None = None,
    ) -> Self:
        """Plot what a fitted estimator shows of `X`, at most `n_views` parts of it.

        The panel of a module has what all modules have in common on its first axis, what only it has on its second.
        """
        check_count("n_views", n_views)
        model, rows = unwrap(estimator, X)
        shown = views_of(model, rows, most=n_views).views
        return cls({view.name: view.plane for view in shown}, y=y).plot(theme=theme)

    @classmethod
    def from_representation(
        cls, views: Mapping[str, ArrayLike], *, y: ArrayLike | None = None, theme: Theme | None = None
    ) -> Self:
        """Plot the first two columns of several representations of the same points, given by name."""
        planes = {name: two_columns(as_rows(Z, len(np.asarray(Z)))) for name, Z in views.items()}
        return cls(planes, y=y).plot(theme=theme)

    def _draw(self, plt: ModuleType) -> None:
        """Draw one panel per view, three in a row at most."""
        columns = min(len(self.views), 3 if len(self.views) != 4 else 4)
        rows = -(-len(self.views) // columns)
        axes = self._grid(plt, rows, columns, (2.5 * columns + 0.7, 2.6 * rows))
        for ax in axes.flat[len(self.views) :]:
            ax.remove()
        shade = None
        for ax, (name, plane) in zip(axes.flat, self.views.items(), strict=False):
            points = np.asarray(plane)
            shade = scatter_classes(ax, points, self.y, size=0.6 * point_size(len(points)), legend=False)
            ax.set(title=name, xticks=[], yticks=[])
            ax.spines[["top", "right"]].set_visible(True)
        self.axes_ = axes.ravel()[: len(self.views)]
        if shade is not None:
            self.figure_.colorbar(shade, ax=list(self.axes_))
        else:
            place_legend(axes[0, -1])


def _thumbnails(ax: "Axes", Z: NDArray, images: NDArray) -> None:
    """Draw images of points that are far from all points with an image."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    places = (Z - Z.min(axis=0)) / np.where(np.ptp(Z, axis=0) > 0, np.ptp(Z, axis=0), 1)
    taken = np.empty((0, 2))
    for i in np.random.RandomState(0).permutation(len(Z)):
        if len(taken) >= _THUMBNAILS:
            break
        if len(taken) == 0 or np.abs(taken - places[i]).max(axis=1).min() > 0.07:
            taken = np.vstack([taken, places[i]])
            picture = OffsetImage(images[i], zoom=14 / max(images.shape[1:3]), cmap="gray")
            ax.add_artist(AnnotationBbox(picture, (Z[i, 0], Z[i, 1]), frameon=False))


def _densities(ax: "Axes", values: NDArray, y: ArrayLike | None) -> None:
    coded = encode("y", np.zeros(len(values), dtype=int) if y is None else y)
    codes = np.array(coded["values"] if coded["kind"] == "class" else [0] * len(values))
    grid, colors = np.linspace(values.min(), values.max(), 200), colors_on(ax)
    for i, name in enumerate(coded.get("classes", ["points"])):
        density = _density(values[codes == i], grid) * np.mean(codes == i)
        ax.fill_between(grid, density, color=colors[i % len(colors)], alpha=0.3, lw=0)
        ax.plot(grid, density, color=colors[i % len(colors)], label=name)
    place_legend(ax)


def _density(values: NDArray, grid: NDArray) -> NDArray:
    """Gaussian kernel density on `grid`, bandwidth by Scott's rule; a spike if all values are equal."""
    width = max(float(values.std()) * len(values) ** -0.2, 1e-3 * float(np.ptp(grid))) or 1.0
    weights = np.exp(-0.5 * ((grid[:, None] - values) / width) ** 2)
    return weights.mean(axis=1) / (width * np.sqrt(2 * np.pi))
