"""Where a classifier of points in the plane changes its mind."""

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_X_y

from polyfold._validation import check_count
from polyfold.report._display import Display, Theme, colors_on, drawing, point_size, scatter_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RegionOptions(TypedDict, total=False):
    """Options that :meth:`DecisionRegionDisplay.from_representation` passes on."""

    resolution: int
    ax: "Axes | None"
    theme: Theme | None


class DecisionRegionDisplay(Display):
    """Plot the predicted class of each region of the plane.

    Parameters
    ----------
    sides : pair of arrays of shape (r,)
        Grid along both axes.
    response : array-like of int of shape (r, r)
        Number of the class at every grid point.
    X : array-like of shape (n, 2)
    y : array-like of shape (n,)

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> Z = pf.KernelEmbedding(2).fit_transform(X)
    >>> pf.report.DecisionRegionDisplay.from_representation(Z, y).response.shape
    (200, 200)
    """

    def __init__(self, sides: Sequence[NDArray], response: ArrayLike, *, X: ArrayLike, y: ArrayLike):
        self.sides, self.response, self.X, self.y = sides, response, X, y

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator | Callable[[NDArray], ArrayLike],
        X: ArrayLike,
        y: ArrayLike,
        *,
        resolution: int = 200,
        ax: "Axes | None" = None,
        theme: Theme | None = None,
    ) -> Self:
        """Plot a fitted classifier, or any function from points to labels, of points (n, 2).

        Parameters
        ----------
        estimator : object with `predict`, or callable
        X : array-like of shape (n, 2)
        y : array-like of shape (n,)
        resolution : int, default=200
            Grid points along each side.
        ax : matplotlib Axes, default=None
        theme : {"light", "dark"} or None, default=None
        """
        points, y = check_X_y(X, y)
        if points.shape[1] != 2:
            raise ValueError(f"X must have 2 columns to draw regions in, got {points.shape[1]}; pass two coordinates.")
        check_count("resolution", resolution, minimum=2)
        predict: Callable[[NDArray], ArrayLike] = getattr(estimator, "predict", estimator)
        margin = 0.05 * np.ptp(points, axis=0)
        ends = zip(points.min(axis=0) - margin, points.max(axis=0) + margin, strict=True)
        sides = [np.linspace(low, high, resolution) for low, high in ends]
        plane = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
        found = np.searchsorted(np.unique(y), np.asarray(predict(plane)))
        return cls(sides, found.reshape(resolution, resolution), X=points, y=y).plot(ax, theme=theme)

    @classmethod
    def from_representation(
        cls, Z: ArrayLike, y: ArrayLike, *, classifier: BaseEstimator | None = None, **options: Unpack[RegionOptions]
    ) -> Self:
        """Fit a classifier, by default 5-nearest-neighbours, to the first two columns of `Z` and plot it."""
        plane: NDArray = np.asarray(Z)[:, :2]
        model = KNeighborsClassifier(min(5, len(plane))) if classifier is None else clone(classifier)
        return cls.from_estimator(model.fit(plane, y), plane, y, **options)

    def plot(self, ax: "Axes | None" = None, *, theme: Theme | None = None) -> Self:
        """Draw on `ax`, or on a new figure, in the colours of `theme`."""
        response, count = np.asarray(self.response), len(np.unique(np.asarray(self.y)))
        levels = np.arange(count + 1) - 0.5
        with drawing(theme) as plt:
            ax = self._axes(plt, ax)
            colors = list(islice(cycle(colors_on(ax)), count))
            ax.contourf(*self.sides, response, levels=levels, colors=colors, alpha=0.22)
            if count > 1:
                ax.contour(*self.sides, response, levels=levels[1:-1], colors="0.5", linewidths=1)
            plane = np.asarray(self.X)
            scatter_classes(ax, plane, self.y, size=point_size(len(plane)), few=len(plane))
        return self
