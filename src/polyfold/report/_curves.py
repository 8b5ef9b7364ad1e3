"""Curves over λ, the spectrum and the number of coordinates: allocation, loss with its bound, scores, scree."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyfold._typing import RandomState, Table
from polyfold.report._columns import encode
from polyfold.report._display import COLORS, GridDisplay, SingleDisplay, Theme
from polyfold.report._scores import Scorer, true_rows
from polyfold.report._steps import diversity_path_of
from polyfold.report._views import unwrap, views_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))


def _path(estimator: BaseEstimator, diversities: Sequence[float] | None) -> list[Any]:
    """Models of a λ path, or an error with the models that have one."""
    model, _ = unwrap(estimator, np.empty((0, 0)))
    if not hasattr(model, "diversity_path"):
        raise TypeError(
            f"estimator must have diversity_path, as ModularKernelPCA and ModularAutoencoder have, got {model!r}."
        )
    return diversity_path_of(model, diversities)


class AllocationDisplay(SingleDisplay):
    """Plot how many modules contain each direction of the spectrum.

    Parameters
    ----------
    allocations : mapping of float to array-like of shape (k,)
        λ to the allocation n_j.
    n_modules : int
        Upper limit of n_j.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> model = pf.ModularKernelPCA(4, 3, random_state=0).fit(load_iris().data)
    >>> display = pf.report.AllocationDisplay.from_estimator(model, diversities=[0.5, 0.9])
    >>> [line.get_label() for line in display.ax_.lines]
    ['λ = 0.5', 'λ = 0.9', 'λ = 0.99']
    """

    def __init__(self, allocations: Mapping[float, ArrayLike], *, n_modules: int):
        self.allocations, self.n_modules = allocations, n_modules

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        diversities: Sequence[float] = (),
        ax: "Axes | None" = None,
        theme: Theme | None = None,
    ) -> Self:
        """Plot the allocation of a fitted modular model, and of its remixes for other `diversities`."""
        path = _path(estimator, diversities)
        allocations = {float(m.diversity): m.allocation_ for m in path}
        return cls(allocations, n_modules=path[0].n_modules).plot(ax, theme=theme)

    def _draw(self, ax: "Axes") -> None:
        for i, (lam, share) in enumerate(self.allocations.items()):
            share = np.asarray(share)
            style = "-" if i < len(COLORS) else _DASHES[0]
            steps = np.arange(1, share.size + 1)
            ax.step(steps, share, style, where="mid", color=COLORS[i % len(COLORS)], label=f"λ = {lam:g}")
        ax.set(xlabel="direction of the spectrum", ylabel="modules that hold it", ylim=(0, 1.05 * self.n_modules))
        ax.legend(frameon=False)


class LossDisplay(SingleDisplay):
    """Plot the modular loss and its lower bound over λ or over epochs.

    Parameters
    ----------
    x : array-like of shape (g,)
        Values of λ, or numbers of epochs.
    loss, bound : array-like of shape (g,)
    name : str, default="diversity λ"
        Of the first axis; values of λ are set at even distances.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> model = pf.ModularKernelPCA(4, 3, random_state=0).fit(load_iris().data)
    >>> pf.report.LossDisplay.from_estimator(model).ax_.get_ylabel()
    'modular loss'
    """

    def __init__(self, x: ArrayLike, loss: ArrayLike, bound: ArrayLike, *, name: str = "diversity λ"):
        self.x, self.loss, self.bound, self.name = x, loss, bound, name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        diversities: Sequence[float] | None = None,
        ax: "Axes | None" = None,
        theme: Theme | None = None,
    ) -> Self:
        """Plot the epochs of a model that has been fitted in several, else its path over `diversities`."""
        model, _ = unwrap(estimator, np.empty((0, 0)))
        if diversities is None and getattr(model, "n_iter_", 1) > 1:
            loss = np.asarray(model.loss_curve_)
            epochs = np.arange(1, loss.size + 1)
            return cls(epochs, loss, np.full(loss.size, model.loss_bound_), name="epoch").plot(ax, theme=theme)
        path = _path(estimator, diversities)
        values = [[getattr(m, name) for m in path] for name in ("diversity", "loss_", "loss_bound_")]
        return cls(*values).plot(ax, theme=theme)

    def _draw(self, ax: "Axes") -> None:
        x = _places(ax, self.x) if self.name.endswith("λ") else np.asarray(self.x)
        ax.plot(x, self.loss, "-o" if len(x) < 20 else "-", color=COLORS[0], ms=4, label="loss")
        ax.plot(x, self.bound, "--", color=COLORS[1], label="lower bound")
        ax.set(xlabel=self.name, ylabel="modular loss")
        if not self.name.endswith("λ"):  # there are no halves of epochs
            ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
        ax.legend(frameon=False)


class DiversityDisplay(GridDisplay):
    """Plot scores over λ, next to those of methods without λ.

    Parameters
    ----------
    diversities : array-like of shape (g,)
        Values of λ, set at even distances.
    scores : mapping of str to array-like of shape (g,), or to a mapping of str to such
        One panel per score, with one curve or several named ones.
    baselines : mapping of str to mapping of str to float, default=None
        Method to its scores, drawn as level lines.
    name : str, default="modular"
        Name of the curve, for panels with one.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, and their Figure
        After `plot`.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = pf.ModularKernelPCA(4, 3, random_state=0).fit(X)
    >>> display = pf.report.DiversityDisplay.from_estimator(model, X, y=y, diversities=[0, 0.5, 0.9])
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['precision at 10', 'vote accuracy', 'module correlation']
    """

    def __init__(
        self,
        diversities: ArrayLike,
        scores: Mapping[str, ArrayLike | Mapping[str, ArrayLike]],
        *,
        baselines: Mapping[str, Mapping[str, float]] | None = None,
        name: str = "modular",
    ):
        self.diversities, self.scores, self.baselines, self.name = diversities, scores, baselines or {}, name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Table,
        *,
        y: ArrayLike | None = None,
        diversities: Sequence[float] | None = None,
        baselines: Mapping[str, BaseEstimator] | None = None,
        theme: Theme | None = None,
        random_state: RandomState = 0,
    ) -> Self:
        """Score a fitted model and its remixes on `X`: precision, vote accuracy, correlation of the modules.

        Parameters
        ----------
        estimator : fitted model with `diversity_path`
        X : {array-like, sparse matrix} of shape (n, n_features)
        y : array-like of shape (n,), default=None
            Classes, which the five nearest other points vote for.
        diversities : sequence of float, default=None
            Values of λ in addition to the model's own.
        baselines : mapping of str to fitted modular models, default=None
        theme : {"light", "dark"} or None, default=None
        random_state : int, RandomState or None, default=0
            Seed for the thousand points that are compared.
        """
        path = _path(estimator, diversities)
        model, rows = unwrap(estimator, X)
        coded = None if y is None else encode("y", y)
        classes = np.array(coded["values"]) if coded is not None and coded["kind"] == "class" else None
        scorer = Scorer(true_rows(model, rows), _num_samples(rows), classes, check_random_state(random_state))

        def scores(method: BaseEstimator) -> dict[str, float]:
            views = views_of(method, rows)
            return {k: v for k, v in scorer.figures(views, scorer.bars(views)[1]).items() if k != "single modules"}

        curve = [scores(m) for m in path]
        levels = {name: scores(method) for name, method in (baselines or {}).items()}
        by_score = {name: [row[name] for row in curve] for name in curve[0]}
        return cls([m.diversity for m in path], by_score, baselines=levels).plot(theme=theme)

    def _draw(self, plt: ModuleType) -> None:
        """Draw one panel per score."""
        axes = self._grid(plt, 1, len(self.scores), (3.4 * len(self.scores), 3.0))[0]
        for ax, (score, values) in zip(axes, self.scores.items(), strict=True):
            places = _places(ax, self.diversities)
            curves = values if isinstance(values, Mapping) else {self.name: values}
            for i, (name, curve) in enumerate(curves.items()):
                ax.plot(places, curve, "-o", color=COLORS[i], ms=4, label=name)
            for i, (name, row) in enumerate(self.baselines.items()):
                if score in row:
                    color = COLORS[(i + 1) % len(COLORS)]
                    ax.axhline(row[score], color=color, ls=_DASHES[i % len(_DASHES)], lw=1.4, label=name)
            ax.set(xlabel="diversity λ", ylabel=score)
            if isinstance(values, Mapping):
                ax.legend(frameon=False)
        if self.baselines:
            handles, names = axes[0].get_legend_handles_labels()
            self.figure_.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
        self.axes_ = axes


class ScreeDisplay(SingleDisplay):
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

    def _draw(self, ax: "Axes") -> None:
        scores = np.asarray(self.scores, dtype=float)
        numbers = np.arange(1, len(scores) + 1)
        ax.plot(numbers, scores, "-o", color=COLORS[0], ms=4, label="coordinates")
        if self.permuted is not None:
            ax.plot(numbers, np.asarray(self.permuted), "--s", color=COLORS[2], ms=3, label="last one permuted")
        for i in np.flatnonzero(numbers == self.chosen):
            ax.plot(numbers[i], scores[i], "D", color=COLORS[1], ms=9, label=f"n_components: {self.chosen}")
        ax.set(xlabel="number of coordinates", ylabel="unexplained fraction of the data", yscale="log")
        ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
        ax.legend(frameon=False)


def _places(ax: "Axes", diversities: ArrayLike) -> NDArray:
    """Even distances for values of λ, which crowd near 1, with their values as ticks."""
    values = np.asarray(diversities, dtype=float)
    ax.set_xticks(np.arange(values.size), [f"{lam:g}" for lam in values], rotation=0 if values.size < 7 else 60)
    return np.arange(values.size)
