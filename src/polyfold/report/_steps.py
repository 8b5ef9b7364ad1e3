"""The steps of the diversity slider: views of the same points for every λ, mirrored to resemble one another."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polyfold._typing import Table
from polyfold.report._columns import unique_names
from polyfold.report._scores import Scorer, nearest, true_rows
from polyfold.report._views import MAP, View, Views, clusterer_views, views_of

GRID = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
# Points further out than this many times the 99th percentile are drawn at the edge.
_FAR = 3.0
_LEVELS = 4095  # twelve bits for a coordinate


@dataclass(frozen=True)
class SliderStep:
    """What the page shows of one model."""

    diversity: float | None
    views: Views
    figures: dict[str, float]
    allocation: NDArray | None
    bars: tuple[str, dict[str, float]]
    neighbors: dict[str, NDArray] = field(default_factory=dict)  # name -> (n, k)


def diversity_path_of(model: BaseEstimator, diversities: Sequence[float] | None) -> list[BaseEstimator]:
    """Return the fitted models of a λ path, the given one among them; only that one if there is no path."""
    diversity = getattr(model, "diversity", None)
    if diversity is None or not hasattr(model, "diversity_path"):
        return [model]
    if getattr(model, "solver", "closed") in ("sgd", "drop-module"):  # they need the data for every λ
        return [model]
    grid = sorted({float(lam) for lam in (GRID if diversities is None else diversities)} - {float(diversity)})
    path = [*model.diversity_path(grid), model]
    return sorted(path, key=lambda m: m.diversity)


def slider_grid(model: BaseEstimator, diversities: Sequence[float] | None) -> Sequence[float] | None:
    """Return the given values of λ; by default, an iterative solver is not run again for other values."""
    return () if diversities is None and getattr(model, "solver", "closed") != "closed" else diversities


def thin_path(path: list[BaseEstimator], model: BaseEstimator, most: int) -> list[BaseEstimator]:
    """Return at most `most` models of a path, evenly spaced; the given model stays."""
    if len(path) <= max(1, most):
        return path
    others = [m for m in path if m is not model]
    keep = np.unique(np.linspace(0, len(others) - 1, max(0, most - 1)).round().astype(int)) if most > 1 else []
    return sorted([model, *(others[i] for i in keep)], key=lambda m: m.diversity)


def steps_of(
    path: list[BaseEstimator],
    X: Table,
    extra: Sequence[View],
    scorer: Scorer,
    rng: np.random.RandomState,
    *,
    most: int,
) -> list[SliderStep]:
    """Return the steps of a path, each mirrored towards the one before; an extra view named "map" comes first."""
    steps: list[SliderStep] = []
    for model in path:
        if hasattr(model, "labels_"):
            has_map = any(view.name == MAP for view in extra)
            views = clusterer_views(model, X, true_rows(model, X), rng, has_map=has_map)
        else:
            views = views_of(model, X, most=most)
        bars = scorer.bars(views)
        figures = _losses(model) | scorer.figures(views, bars[1])
        maps = [view for view in extra if view.name == MAP]
        mirrored = [_towards(v, steps, i + len(maps)) for i, v in enumerate(views.views)]
        shown = [*maps, *mirrored, *(view for view in extra if view.name != MAP)]
        names = unique_names([view.name for view in shown])
        views = replace(views, views=[replace(v, name=name) for v, name in zip(shown, names, strict=True)])
        diversity, allocation = getattr(model, "diversity", None), getattr(model, "allocation_", None)
        steps.append(SliderStep(diversity, views, figures, allocation, bars))
    return steps


def with_neighbors(step: SliderStep, k: int) -> SliderStep:
    """Add the `k` nearest other points of every point, in all and in every view."""
    everyone = np.arange(len(step.views.whole))
    searched = {view.name: view.rows for view in step.views.views}
    whole_is_shown = any(view.rows is step.views.whole for view in step.views.views)
    if step.views.kind in ("coordinates", "clusters") and step.views.whole.shape[1] > 2 and not whole_is_shown:
        searched = {"all coordinates": step.views.whole, **searched}
    return replace(step, neighbors={name: nearest(rows, everyone, k) for name, rows in searched.items()})


def pack_points(plane: NDArray) -> tuple[NDArray, int]:
    """Return points of the plane on a grid of 4096 × 4096, packed in three bytes each, and how many are clipped."""
    low, high = np.quantile(plane, [0.01, 0.99], axis=0)
    centred = plane - (low + high) / 2
    reach = np.abs(centred).max(axis=1)
    edge = min(float(reach.max()), _FAR * float(np.quantile(reach, 0.99)) or float(reach.max())) or 1.0
    beyond = int(np.sum(reach > edge * (1 + 1e-9)))
    x, y = ((np.clip(centred / edge, -1, 1) + 1) / 2 * _LEVELS).round().astype(np.uint16).T
    packed = np.stack([x >> 4, ((x & 15) << 4) | (y >> 8), y & 255], axis=1)
    return packed.astype(np.uint8), beyond


def _losses(model: BaseEstimator) -> dict[str, float]:
    if not hasattr(model, "loss_bound_"):
        return {}
    return {"loss": float(model.loss_), "lower bound": float(model.loss_bound_)}


def _towards(view: View, steps: list[SliderStep], i: int) -> View:
    """Mirror a view so that its points lie near where they were: distances do not change."""
    if not steps:
        return view
    before = steps[-1].views.views[i].plane
    return replace(view, plane=view.plane * np.where(np.sum(view.plane * before, axis=0) < 0, -1.0, 1.0))
