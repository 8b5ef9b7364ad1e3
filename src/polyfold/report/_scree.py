"""Scree plot: how much of the data every further coordinate explains."""

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from polyfold.report._display import COLORS, Display, Theme, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ScreeDisplay(Display):
    """Plot the unexplained fraction of the data against the number of coordinates.

    Parameters
    ----------
    scores : array-like of shape (k,)
        Unexplained fraction after 1, 2, … coordinates.
    permuted : array-like of shape (k,), default=None
        The same with the last coordinate permuted.
    chosen : int, default=None
        Number of coordinates to mark.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> display = pf.report.ScreeDisplay([0.4, 0.02, 0.018], chosen=2).plot()
    >>> display.ax_.get_xlabel()
    'number of coordinates'
    """

    def __init__(self, scores: ArrayLike, *, permuted: ArrayLike | None = None, chosen: int | None = None):
        self.scores, self.permuted, self.chosen = scores, permuted, chosen

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: "Axes | None" = None, theme: Theme | None = None) -> Self:
        """Plot the scores of a fitted :class:`polyfold.NonRedundantEmbedding`."""
        check_is_fitted(estimator)
        scores = getattr(estimator, "component_scores_", None)
        if scores is None:
            raise ValueError(f"This plot needs a fitted NonRedundantEmbedding, got {estimator!r}.")
        chosen, permuted = int(estimator.n_components_), estimator.permuted_scores_
        return cls(scores, permuted=permuted, chosen=chosen).plot(ax, theme=theme)

    def plot(self, ax: "Axes | None" = None, *, theme: Theme | None = None) -> Self:
        """Draw on `ax`, or on a new figure, in the colours of `theme`."""
        scores = np.asarray(self.scores, dtype=float)
        numbers = np.arange(1, len(scores) + 1)
        with drawing(theme) as plt:
            ax = self._axes(plt, ax)
            ax.plot(numbers, scores, "-o", color=COLORS[0], ms=4, label="coordinates")
            if self.permuted is not None:
                ax.plot(numbers, np.asarray(self.permuted), "--s", color=COLORS[2], ms=3, label="last one permuted")
            for i in np.flatnonzero(numbers == self.chosen):
                ax.plot(numbers[i], scores[i], "D", color=COLORS[1], ms=9, label=f"n_components: {self.chosen}")
            ax.set(xlabel="number of coordinates", ylabel="unexplained fraction of the data", yscale="log")
            ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
            ax.legend(frameon=False)
        return self
