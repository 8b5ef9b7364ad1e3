"""Coordinates of new points [Blau2017 has none].

The deflated eigenproblem says K g = ν g + Q c on the training points, where Q c = √w q and q is the predictable part
that the deflation took off: a function of the component and of the earlier coordinates only. All its pieces exist at
a new point x, so coordinates follow one after the other:

    kernels of two points   f(x) = (k(x, ·) f − q(x)) / ν
    random walks            f(x) = (T(x) f − s(x) q(x)) / (1 − s(x) (λ_max − ν))
    locally linear methods  f(x) = T(x) f
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold.kernels import FactorOperator, GraphOperator, KernelOperator
from polyfold.nonredundant._sequence import Step

__all__ = ["extend"]

# A new point so isolated that its step outlasts the coordinate's own time scale is not pushed further out.
_LOWEST_SHARE = 0.1


def extend(operator: KernelOperator, steps: list[Step], X: Any) -> NDArray:
    """Return the coordinates of the rows of `X`, shape (n, len(steps))."""
    raw = np.column_stack([step.raw for step in steps])
    if isinstance(operator, GraphOperator):
        extension = operator.extend(X)
        images, times, components = extension.rows @ raw, extension.times, extension.components
    else:
        images, times = _kernel_images(operator, raw, X), None
        components = np.zeros(len(images), dtype=np.intp)
    F = np.empty((len(images), len(steps)))
    for i, step in enumerate(steps):
        taken = _taken(step, F[:, :i], components)
        F[:, i] = (_raw_value(operator, step, images[:, i], times, taken) - step.center) / step.scale
    return F


def _kernel_images(operator: KernelOperator, raw: NDArray, X: Any) -> NDArray:
    if isinstance(operator, FactorOperator):
        return operator.features(X) @ (operator.factor.T @ raw)
    return np.asarray(operator.rows(X) @ raw)


def _taken(step: Step, F: NDArray, components: NDArray) -> NDArray:
    """Return the predictable part q(x)."""
    q = step.intercepts[components]
    return q if step.predictable is None else q + step.predictable.features(F) @ step.slopes


def _raw_value(
    operator: KernelOperator,
    step: Step,
    image: NDArray,
    times: NDArray | None,
    taken: NDArray,
) -> NDArray:
    if not isinstance(operator, GraphOperator):
        return (image - taken) / step.eigenvalue
    if operator.interpolates:
        return image
    assert times is not None
    share = 1 - times * (operator.flip - step.eigenvalue)
    return (image - times * taken) / np.maximum(share, _LOWEST_SHARE)
