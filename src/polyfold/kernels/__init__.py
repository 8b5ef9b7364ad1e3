"""Data to kernel: functions of two points, matrices of all points, and their features."""

from polyfold.kernels._base import Kernel, KernelOperator, OperatorKernel
from polyfold.kernels._diffusion import DiffusionMaps
from polyfold.kernels._graph import FactorOperator, GraphOperator, factor_fill, is_cheap_to_invert, linear_operator
from polyfold.kernels._hessian_lle import HessianLLE
from polyfold.kernels._isomap import Isomap
from polyfold.kernels._laplacian_eigenmaps import LaplacianEigenmaps, intrinsic_dimension
from polyfold.kernels._lle import LocallyLinear
from polyfold.kernels._ltsa import TangentAlignment
from polyfold.kernels._maps import (
    FourierFeatures,
    IdentityFeatures,
    KernelColumns,
    PointFeatures,
    fourier_features,
)
from polyfold.kernels._pointwise import (
    CallableKernel,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    mean_distance_gamma,
)
from polyfold.kernels._precomputed import Precomputed, check_positive_semidefinite, check_symmetric_kernel
from polyfold.kernels._registry import KERNELS, as_kernel
from polyfold.kernels._shared_centers import SharedCenters

__all__ = [
    "KERNELS",
    "CallableKernel",
    "Cosine",
    "DiffusionMaps",
    "FactorOperator",
    "FourierFeatures",
    "Gaussian",
    "GraphOperator",
    "HessianLLE",
    "IdentityFeatures",
    "Isomap",
    "Kernel",
    "KernelColumns",
    "KernelOperator",
    "Laplacian",
    "LaplacianEigenmaps",
    "Linear",
    "LocallyLinear",
    "OperatorKernel",
    "PointFeatures",
    "Polynomial",
    "Precomputed",
    "SharedCenters",
    "TangentAlignment",
    "as_kernel",
    "check_positive_semidefinite",
    "check_symmetric_kernel",
    "factor_fill",
    "fourier_features",
    "intrinsic_dimension",
    "is_cheap_to_invert",
    "linear_operator",
    "mean_distance_gamma",
]
