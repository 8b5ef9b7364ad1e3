"""What a kernel is: a function of two points, or a matrix that depends on all of the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

__all__ = ["Kernel", "KernelOperator", "OperatorKernel"]


class Kernel(BaseEstimator, ABC):
    """A positive semi-definite function of two points, evaluated in blocks.

    Subclasses store parameters in ``__init__`` and fill data-dependent defaults in ``_resolve``.
    """

    def resolve(self, X: Any) -> Self:
        """Return a copy whose data-dependent defaults (such as γ) are taken from `X`."""
        resolved = clone(self)
        resolved._resolve(X)
        return resolved

    def _resolve(self, X: Any) -> None:
        """Set fitted attributes from `X`; most kernels need none."""

    @abstractmethod
    def __call__(self, X: Any, Y: Any) -> NDArray:
        """Return the kernel values of all pairs of rows, shape (n, m)."""


@dataclass(frozen=True)
class KernelOperator:
    """A symmetric N × N kernel that depends on all of the data, and its rows for new points.

    `matrix` is to be maximised: methods that minimise are flipped to λ_max I - K before they come here.
    """

    matrix: Any  # (N, N) ndarray, sparse matrix or LinearOperator
    rows: Callable[[Any], Any]  # X_new -> (n, N) dense or sparse rows k(x, x_j)
    trivial: NDArray | None = None  # (N, c) eigenvectors that carry no information, such as √degree

    @property
    def n_samples(self) -> int:
        """Number of points the kernel was built from."""
        return self.matrix.shape[0]


class OperatorKernel(BaseEstimator, ABC):
    """A kernel known only as a matrix on its training points: graph kernels, bootstrap networks."""

    @abstractmethod
    def operator(self, X: Any) -> KernelOperator:
        """Build the matrix from `X`."""


def as_float(X: Any) -> Any:
    """Return `X` in a floating type: float32 stays, everything else becomes float64."""
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
