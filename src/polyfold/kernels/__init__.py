"""Data to kernel: functions of two points, matrices of all points, and their features."""

from polyfold.kernels._base import Kernel, KernelOperator, OperatorKernel
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

__all__ = [
    "KERNELS",
    "CallableKernel",
    "Cosine",
    "FourierFeatures",
    "Gaussian",
    "IdentityFeatures",
    "Kernel",
    "KernelColumns",
    "KernelOperator",
    "Laplacian",
    "Linear",
    "OperatorKernel",
    "PointFeatures",
    "Polynomial",
    "Precomputed",
    "as_kernel",
    "check_positive_semidefinite",
    "check_symmetric_kernel",
    "fourier_features",
    "mean_distance_gamma",
]
