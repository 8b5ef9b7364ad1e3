"""Tall matrices by blocks of rows: threads side by side, and the same bits for any number of them."""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._running import in_blocks, threaded

BLOCK = 32_768


class SparseRows:
    """A CSR matrix in blocks of rows, which are views of it."""

    def __init__(self, matrix: Any):
        self.matrix = matrix = sp.csr_array(matrix)
        self.blocks = [_part(matrix, start) for start in range(0, matrix.shape[0], BLOCK)]

    def __matmul__(self, V: NDArray) -> NDArray:
        """Return the product with V (m, k)."""
        out = np.empty((self.matrix.shape[0], V.shape[1]))

        def fill(rows: slice) -> None:
            out[rows] = self.blocks[rows.start // BLOCK] @ V

        in_blocks(fill, len(out), BLOCK)
        return out


def _part(matrix: Any, start: int) -> Any:
    pointers = matrix.indptr[start : start + BLOCK + 1]
    entries = slice(pointers[0], pointers[-1])
    parts = (matrix.data[entries], matrix.indices[entries], pointers - pointers[0])
    return sp.csr_array(parts, shape=(len(pointers) - 1, matrix.shape[1]))


def inner(A: NDArray, B: NDArray) -> NDArray:
    """Return Aᵀ B for A (n, p) and B (n, q)."""
    return reduce(np.add, threaded(lambda rows: A[rows].T @ B[rows], _slices(len(A))))


def combine(A: NDArray, T: NDArray) -> NDArray:
    """Return A T for A (n, p) and T (p, q)."""
    out = np.empty((len(A), T.shape[1]))

    def fill(rows: slice) -> None:
        np.matmul(A[rows], T, out=out[rows])

    in_blocks(fill, len(A), BLOCK)
    return out


def take_off(Q: NDArray, V: NDArray) -> NDArray:
    """Return V (n, k) without its part in the span of the orthonormal columns of Q (n, q)."""
    T, out = inner(Q, V), np.empty_like(V)

    def fill(rows: slice) -> None:
        np.subtract(V[rows], Q[rows] @ T, out=out[rows])

    in_blocks(fill, len(V), BLOCK)
    return out


def _slices(n: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))
