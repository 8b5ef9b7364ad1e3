"""Gradients of the features of a point with respect to the point, in closed form if a kernel has one."""

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import as_dense, row_norms_safe
from polyfold.kernels._base import FourierFeatures, IdentityFeatures, KernelColumns, PointFeatures
from polyfold.kernels._pointwise import Cosine, Gaussian, Laplacian, Linear, Polynomial


@singledispatch
def feature_gradients(features: PointFeatures, x: NDArray) -> NDArray | None:
    """Return the gradients of all features at the point `x` (D,), shape (width, D); None without a closed form."""
    return None


@feature_gradients.register
def _(features: IdentityFeatures, x: NDArray) -> NDArray:
    return np.eye(features.width)


@feature_gradients.register
def _(features: FourierFeatures, x: NDArray) -> NDArray:
    W = features.frequencies
    angles = x @ W
    return np.vstack([-np.sin(angles)[:, None] * W.T, np.cos(angles)[:, None] * W.T]) * np.sqrt(1 / W.shape[1])


@feature_gradients.register
def _(features: KernelColumns, x: NDArray) -> NDArray | None:
    return kernel_gradients(features.kernel, x, as_dense(features.landmarks).astype(np.float64))


@singledispatch
def kernel_gradients(kernel: object, x: NDArray, Y: NDArray) -> NDArray | None:
    """Return the gradients of k(x, y) with respect to `x` (D,) for the rows of `Y` (m, D), shape (m, D); or None."""
    return None


@kernel_gradients.register
def _(kernel: Gaussian, x: NDArray, Y: NDArray) -> NDArray:
    return -2 * kernel.gamma_ * kernel(x[None], Y)[0][:, None] * (x - Y)


@kernel_gradients.register
def _(kernel: Laplacian, x: NDArray, Y: NDArray) -> NDArray:
    return -kernel.gamma_ * kernel(x[None], Y)[0][:, None] * np.sign(x - Y)


@kernel_gradients.register
def _(kernel: Linear, x: NDArray, Y: NDArray) -> NDArray:
    return Y if kernel._origin is None else Y - kernel._origin


@kernel_gradients.register
def _(kernel: Polynomial, x: NDArray, Y: NDArray) -> NDArray:
    base = kernel.gamma_ * (Y @ x) + kernel.coef0
    return (kernel.degree * kernel.gamma_ * base ** (kernel.degree - 1))[:, None] * Y


@kernel_gradients.register
def _(kernel: Cosine, x: NDArray, Y: NDArray) -> NDArray:
    norm, norms = float(row_norms_safe(x[None])[0]), row_norms_safe(Y)
    if norm == 0:
        return np.zeros_like(Y)
    units = Y / np.where(norms > 0, norms, 1)[:, None]
    return units / norm - (units @ x)[:, None] * x / norm**3
