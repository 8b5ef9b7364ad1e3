"""Coordinates of new points [Blau2017 has none].

The deflated eigenproblem says K g = ν g + Q c on the training points, where Q c = √w a + v m/√w: an intercept a per
component and the predictable part v, a function of the earlier coordinates only. All pieces exist at a new point x, so
coordinates follow one after the other:

    kernels of two points   f(x) = (k(x, ·) f − a − v(x)) / ν
    random walks            f(x) = (T(x) f − s(x) (a + v(x) m(x)/w(x))) / (1 − s(x) (λ_max − ν))
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
    extension = operator.extend(X) if isinstance(operator, GraphOperator) else None
    images = _kernel_images(operator, raw, X) if extension is None else extension.rows @ raw
    F = np.empty(images.shape)
    for i, step in enumerate(steps):
        value = _raw_value(operator, step, extension, images[:, i], F[:, :i])
        F[:, i] = (value - step.center) / step.scale
        if extension is not None:
            extension.settle(F[:, i], step.values)
    return F


def _raw_value(operator: KernelOperator, step: Step, extension: Any, image: NDArray, earlier: NDArray) -> NDArray:
    predictable = 0.0 if step.predictable is None else step.predictable.features(earlier) @ step.slopes
    if not isinstance(operator, GraphOperator):
        return (image - step.intercepts[0] - predictable) / step.eigenvalue
    if operator.interpolates:
        return image
    taken = extension.times * step.intercepts[extension.components] + extension.shares * predictable
    share = 1 - extension.times * (operator.flip - step.eigenvalue)
    return (image - taken) / np.maximum(share, _LOWEST_SHARE)


def _kernel_images(operator: KernelOperator, raw: NDArray, X: Any) -> NDArray:
    if isinstance(operator, FactorOperator):
        return operator.features(X) @ (operator.factor.T @ raw)
    return np.asarray(operator.rows(X) @ raw)
