"""Data to kernel: functions of two points, operators on all points, and their features."""

from polyfold.kernels._base import FeatureMap as FeatureMap
from polyfold.kernels._base import FourierFeatures as FourierFeatures
from polyfold.kernels._base import GraphKernel, Kernel, KernelColumns, PointFeatures
from polyfold.kernels._base import IdentityFeatures as IdentityFeatures
from polyfold.kernels._base import KernelLike as KernelLike
from polyfold.kernels._base import fourier_features as fourier_features
from polyfold.kernels._gradients import feature_gradients as feature_gradients
from polyfold.kernels._isomap import Isomap
from polyfold.kernels._lle import LocallyLinear
from polyfold.kernels._operator import Extension, Operator
from polyfold.kernels._operator import feature_operator as feature_operator
from polyfold.kernels._operator import has_fixed_rows as has_fixed_rows
from polyfold.kernels._pointwise import CallableKernel as CallableKernel
from polyfold.kernels._pointwise import Cosine, Gaussian, Laplacian, Linear, Polynomial, Precomputed
from polyfold.kernels._pointwise import mean_distance_gamma as mean_distance_gamma
from polyfold.kernels._registry import KERNELS as KERNELS
from polyfold.kernels._registry import as_kernel
from polyfold.kernels._registry import takes_precomputed as takes_precomputed
from polyfold.kernels._shared_centers import SharedCenters
from polyfold.kernels._tangents import HessianLLE, TangentAlignment
from polyfold.kernels._walks import DiffusionMaps, LaplacianEigenmaps, intrinsic_dimension

# The other names are for the package itself.
__all__ = [
    "Cosine",
    "DiffusionMaps",
    "Extension",
    "Gaussian",
    "GraphKernel",
    "HessianLLE",
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
    "intrinsic_dimension",
]
