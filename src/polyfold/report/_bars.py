"""Bars: how much parts of a representation repeat one another, and how many clusters there are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from polyfold._typing import Matrix, Table
from polyfold.report._display import COLORS, Display, Theme, drawing
from polyfold.report._scores import Scorer, true_rows
from polyfold.report._views import Views, _as_rows, _of_modules, unwrap, views_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RedundancyDisplay(Display):
    """One bar for every coordinate, or every module: how much of it is news, or how much it repeats the others.

    Parameters
    ----------
    values : array-like of shape (k,)
        Between 0 and 1.
    names : sequence of str
        Of the bars.
    label : str
        What the bars measure.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> import numpy as np, polyfold as pf
    >>> t, u = np.random.RandomState(0).uniform(-1, 1, (2, 300))
    >>> display = pf.report.RedundancyDisplay.from_representation(np.column_stack([t, t**2, u]))
    >>> [float(round(bar.get_width(), 1)) for bar in display.ax_.patches]
    [1.0, 0.0, 1.0]
    """

    def __init__(self, values: ArrayLike, *, names: Sequence[str], label: str):
        self.values, self.names, self.label = values, names, label

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: Table, *, ax: "Axes | None" = None, theme: Theme | None = None
    ) -> Self:
        """Plot the bars of a fitted estimator: distance correlation of modules, news of coordinates."""
        model, rows = unwrap(estimator, X)
        return cls._of(views_of(model, rows), true_rows(model, rows)).plot(ax, theme=theme)

    @classmethod
    def from_representation(cls, Z: ArrayLike, *, ax: "Axes | None" = None, theme: Theme | None = None) -> Self:
        """Plot the bars of coordinates (n, c), or of modules (n_modules, n, n_components)."""
        Z = np.asarray(Z)
        shown = _of_modules(Z, 1) if Z.ndim == 3 else Views("coordinates", [], _as_rows(Z, len(Z)), Z.shape[-1])
        return cls._of(shown, None).plot(ax, theme=theme)

    @classmethod
    def _of(cls, views: Views, X: Matrix | None) -> Self:
        scorer = Scorer(X if views.kind == "layers" else None, len(views.whole), None, check_random_state(0))
        label, values = scorer.bars(views)
        part = {"modules": "module", "coordinates": "coordinate"}.get(views.kind)
        names = [view.name for view in views.views] if part is None else [f"{part} {i}" for i in range(len(values))]
        return cls(values, names=names, label=label)

    def plot(self, ax: "Axes | None" = None, *, theme: Theme | None = None) -> Self:
        """Draw on `ax`, or on a new figure, in the colours of `theme`."""
        values = np.asarray(self.values)
        with drawing(theme) as plt:
            ax = self._axes(plt, ax, (4.6, 0.8 + 0.24 * values.size))
            bars = ax.barh(np.arange(values.size), values, color=COLORS[0], height=0.7)
            ax.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
            ax.set_yticks(np.arange(values.size), self.names)
            ax.set(xlim=(0, 1.12), xlabel=self.label)
            ax.invert_yaxis()
        return self


class ClusterNumberDisplay(Display):
    """Score of every number of clusters that was considered, and the one chosen.

    Parameters
    ----------
    numbers : array-like of int of shape (k,)
    scores : array-like of shape (k,)
    shares : array-like of shape (k,), default=None
        Of the samples in which a number has the highest score, drawn on an axis of its own.
    chosen : int, default=None
    label : str, default="score"

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> display = pf.report.ClusterNumberDisplay([2, 3, 4], [0.4, 0.9, 0.5], chosen=3).plot()
    >>> display.ax_.get_xlabel()
    'number of clusters'
    """

    def __init__(
        self,
        numbers: ArrayLike,
        scores: ArrayLike,
        *,
        shares: ArrayLike | None = None,
        chosen: int | None = None,
        label: str = "score",
    ):
        self.numbers, self.scores, self.shares = numbers, scores, shares
        self.chosen, self.label = chosen, label

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: "Axes | None" = None, theme: Theme | None = None) -> Self:
        """Plot what a fitted :class:`polyfold.BootstrapClustering` with an estimated number has considered."""
        check_is_fitted(estimator)
        considered: Mapping[int, Any] = getattr(estimator, "n_clusters_scores_", None) or {}
        if not considered:
            raise ValueError(
                f"estimator must have estimated its number of clusters, got one told it, {estimator!r}; fit with "
                "n_clusters='auto'."
            )
        numbers = sorted(considered)
        scores, shares = np.array([considered[number] for number in numbers], dtype=float).T
        return cls(numbers, scores, shares=shares, chosen=int(estimator.n_clusters_)).plot(ax, theme=theme)

    def plot(self, ax: "Axes | None" = None, *, theme: Theme | None = None) -> Self:
        """Draw on `ax`, or on a new figure, in the colours of `theme`."""
        numbers, scores = np.asarray(self.numbers), np.asarray(self.scores, dtype=float)
        with drawing(theme) as plt:
            ax = self._axes(plt, ax)
            ax.plot(numbers, scores, "-o", color=COLORS[0], ms=4, label=self.label)
            for number in np.flatnonzero(numbers == self.chosen):
                ax.plot(numbers[number], scores[number], "D", color=COLORS[1], ms=9, label=f"chosen: {self.chosen}")
            if self.shares is not None:
                right = ax.twinx()
                right.plot(numbers, self.shares, "--s", color=COLORS[2], ms=3)
                ax.plot([], [], "--s", color=COLORS[2], ms=3, label="share of the samples")
                right.set(ylim=(-0.02, 1.05), ylabel="share of the samples")
                right.spines["right"].set_visible(True)
            ax.set(xlabel="number of clusters", ylabel=self.label)
            ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
            ax.legend(frameon=False)
        return self
