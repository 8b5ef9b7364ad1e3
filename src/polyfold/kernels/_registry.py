"""Names of kernels, and what a user may pass for one."""

from __future__ import annotations

from typing import Any

from polyfold.kernels._base import Kernel, OperatorKernel
from polyfold.kernels._diffusion import DiffusionMaps
from polyfold.kernels._hessian_lle import HessianLLE
from polyfold.kernels._isomap import Isomap
from polyfold.kernels._laplacian_eigenmaps import LaplacianEigenmaps
from polyfold.kernels._lle import LocallyLinear
from polyfold.kernels._ltsa import TangentAlignment
from polyfold.kernels._pointwise import CallableKernel, Cosine, Gaussian, Laplacian, Linear, Polynomial
from polyfold.kernels._precomputed import Precomputed
from polyfold.kernels._shared_centers import SharedCenters

__all__ = ["KERNELS", "as_kernel"]

KERNELS: dict[str, type[Kernel] | type[OperatorKernel]] = {
    "rbf": Gaussian,
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "linear": Linear,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "cosine": Cosine,
    "precomputed": Precomputed,
    "laplacian_eigenmaps": LaplacianEigenmaps,
    "lle": LocallyLinear,
    "hessian_lle": HessianLLE,
    "ltsa": TangentAlignment,
    "isomap": Isomap,
    "diffusion": DiffusionMaps,
    "shared_centers": SharedCenters,
}


def as_kernel(kernel: Any) -> Kernel | OperatorKernel:
    """Return the kernel object for a name, an object or a callable.

    Parameters
    ----------
    kernel : str, Kernel, OperatorKernel or callable

    Examples
    --------
    >>> from polyfold.kernels import as_kernel
    >>> as_kernel("rbf")
    Gaussian()
    """
    if isinstance(kernel, Kernel | OperatorKernel):
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]()
    if callable(kernel):
        function: Any = kernel
        return CallableKernel(function)
    raise ValueError(
        f"kernel must be one of {', '.join(map(repr, KERNELS))}, a kernel object or a callable, got {kernel!r}."
    )
