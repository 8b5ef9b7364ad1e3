"""Bars: how much parts of a representation repeat one another."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from polyfold._typing import Matrix, Table
from polyfold.report._display import COLORS, SingleDisplay, Theme
from polyfold.report._scores import Scorer, true_rows
from polyfold.report._views import Views, as_rows, module_views, unwrap, views_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RedundancyDisplay(SingleDisplay):
    """Plot how much coordinates or modules repeat each other.

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
        """Plot the bars of a fitted estimator: distance correlation of modules, novelty of coordinates."""
        model, rows = unwrap(estimator, X)
        return cls._of(views_of(model, rows), true_rows(model, rows)).plot(ax, theme=theme)

    @classmethod
    def from_representation(cls, Z: ArrayLike, *, ax: "Axes | None" = None, theme: Theme | None = None) -> Self:
        """Plot the bars of coordinates (n, c), or of modules (n_modules, n, n_components)."""
        Z = np.asarray(Z)
        shown = module_views(Z, 1) if Z.ndim == 3 else Views("coordinates", [], as_rows(Z, len(Z)), Z.shape[-1])
        return cls._of(shown, None).plot(ax, theme=theme)

    @classmethod
    def _of(cls, views: Views, X: Matrix | None) -> Self:
        scorer = Scorer(X if views.kind == "layers" else None, len(views.whole), None, check_random_state(0))
        label, bars = scorer.bars(views)
        return cls(list(bars.values()), names=list(bars), label=label)

    def _size(self) -> tuple[float, float]:
        return 4.6, 0.8 + 0.24 * len(self.names)

    def _draw(self, ax: "Axes") -> None:
        values = np.asarray(self.values)
        bars = ax.barh(np.arange(values.size), values, color=COLORS[0], height=0.7)
        ax.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
        ax.set_yticks(np.arange(values.size), self.names)
        ax.set(xlim=(0, 1.12), xlabel=self.label)
        ax.invert_yaxis()
