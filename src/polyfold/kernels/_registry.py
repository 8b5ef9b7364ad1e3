"""Names of kernels, and what a user may pass for one."""

from typing import Any

from polyfold.kernels._base import GraphKernel, Kernel, KernelLike
from polyfold.kernels._isomap import Isomap
from polyfold.kernels._lle import LocallyLinear
from polyfold.kernels._pointwise import CallableKernel, Cosine, Gaussian, Laplacian, Linear, Polynomial, Precomputed
from polyfold.kernels._shared_centers import SharedCenters
from polyfold.kernels._tangents import HessianLLE, TangentAlignment
from polyfold.kernels._walks import DiffusionMaps, LaplacianEigenmaps

KERNELS: dict[str, type[Kernel] | type[GraphKernel]] = {
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "linear": Linear,
    "poly": Polynomial,
    "cosine": Cosine,
    "shared_centers": SharedCenters,
    "precomputed": Precomputed,
    "laplacian_eigenmaps": LaplacianEigenmaps,
    "lle": LocallyLinear,
    "hessian_lle": HessianLLE,
    "ltsa": TangentAlignment,
    "isomap": Isomap,
    "diffusion": DiffusionMaps,
}


def as_kernel(kernel: KernelLike, *, n_neighbors: int | None = None, n_jobs: int | None = None) -> Kernel | GraphKernel:
    """Return the kernel object for a name, an object or a callable.

    Parameters
    ----------
    kernel : str, Kernel, GraphKernel or callable
    n_neighbors : int, default=None
    n_jobs : int, default=None
        Override the kernel's own parameters of these names if it has them.

    Returns
    -------
    kernel : Kernel or GraphKernel

    Examples
    --------
    >>> from polyfold.kernels import as_kernel
    >>> as_kernel("rbf")
    Gaussian()
    """
    found = _object_for(kernel)
    wanted = {"n_neighbors": n_neighbors, "n_jobs": n_jobs}
    known = found.get_params(deep=False)
    changes = {name: value for name, value in wanted.items() if value is not None and name in known}
    return type(found)(**{**known, **changes}) if changes else found


def takes_precomputed(kernel: KernelLike) -> bool:
    """Whether `X` holds pairs of points, kernel values or distances, with what a user passed for a kernel."""
    return kernel == "precomputed" if isinstance(kernel, str) else getattr(kernel, "takes_precomputed", False) is True


def _object_for(kernel: KernelLike) -> Kernel | GraphKernel:
    if isinstance(kernel, Kernel | GraphKernel):
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]()
    if isinstance(kernel, type) and issubclass(kernel, Kernel | GraphKernel):
        raise TypeError(f"kernel must be an object, got the class {kernel.__name__}; pass {kernel.__name__}().")
    if callable(kernel):
        function: Any = kernel
        return CallableKernel(function)
    raise ValueError(
        f"kernel must be one of {', '.join(map(repr, KERNELS))}, a kernel object or a callable, got {kernel!r}."
    )
