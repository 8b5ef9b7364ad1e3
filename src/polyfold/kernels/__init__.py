"""Data to kernel: functions of two points, operators on all points, and their features."""

from polyfold.kernels._base import FeatureMap as FeatureMap
from polyfold.kernels._base import (
    FourierFeatures,
    GraphKernel,
    IdentityFeatures,
    Kernel,
    KernelColumns,
    PointFeatures,
    fourier_features,
)
from polyfold.kernels._base import KernelLike as KernelLike
from polyfold.kernels._bootstrap_eigenmaps import BootstrapEigenmaps
from polyfold.kernels._gradients import feature_gradients
from polyfold.kernels._isomap import Isomap
from polyfold.kernels._lle import LocallyLinear
from polyfold.kernels._operator import Extension, Operator, feature_operator
from polyfold.kernels._pointwise import (
    CallableKernel,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    mean_distance_gamma,
)
from polyfold.kernels._registry import KERNELS, as_kernel, takes_precomputed
from polyfold.kernels._shared_centers import SharedCenters
from polyfold.kernels._tangents import HessianLLE, TangentAlignment
from polyfold.kernels._walks import DiffusionMaps, LaplacianEigenmaps, intrinsic_dimension

__all__ = [
    "KERNELS",
    "BootstrapEigenmaps",
    "CallableKernel",
    "Cosine",
    "DiffusionMaps",
    "Extension",
    "FourierFeatures",
    "Gaussian",
    "GraphKernel",
    "HessianLLE",
    "IdentityFeatures",
    "Isomap",
    "Kernel",
    "KernelColumns",
    "Laplacian",
    "LaplacianEigenmaps",
    "Linear",
    "LocallyLinear",
    "Operator",
    "PointFeatures",
    "Polynomial",
    "Precomputed",
    "SharedCenters",
    "TangentAlignment",
    "as_kernel",
    "feature_gradients",
    "feature_operator",
    "fourier_features",
    "intrinsic_dimension",
    "mean_distance_gamma",
    "takes_precomputed",
]
