"""Kernel operator to spectrum: graph kernels for everything that reads spectra (modules, plain embeddings).

Eigenvectors are those of [Blau2017, problem 4], orthonormal in the operator's measure; eigenvalues those of the flipped
matrix. New points get their coordinates from the operator's own extension, and training points their own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyfold._typing import Matrix
from polyfold.kernels import Operator
from polyfold.spectra._eigen import residuals, top_directions
from polyfold.spectra._spectrum import Spectrum


@dataclass(frozen=True)
class Eigenfunctions:
    """Eigenfunctions of an operator at old and new points: the raw features of its spectrum."""

    operator: Operator
    functions: NDArray  # (N, r), at the training points
    eigenvalues: NDArray  # (r,), of the operator
    intercepts: NDArray  # (c, r), what the trivial directions take off
    residuals: NDArray  # (r,), residuals relative to cost or eigenvalue

    @property
    def width(self) -> int:
        """Number of eigenfunctions."""
        return self.functions.shape[1]

    def transform(self, X: Matrix) -> NDArray:
        """Return the eigenfunctions at the rows of `X`, shape (n, r)."""
        return self.operator.extend(X).values(self.functions, self.eigenvalues, self.intercepts)

    def metric(self) -> None:
        """Return None: the functions are scaled by the spectrum's read-out."""


def spectrum_from_operator(operator: Operator, n_directions: int) -> Spectrum:
    """Spectrum of the top `n_directions` non-trivial directions of an operator."""
    n, trivial = operator.n_samples, operator.trivial
    Q = trivial / np.linalg.norm(trivial, axis=0)
    wanted = min(n_directions, n - Q.shape[1])
    nu, G = top_directions(operator, Q, wanted)
    keep = nu > max(nu[0], 0.0) * n * np.finfo(np.float64).eps
    nu, G = nu[keep], G[:, keep]
    # Unit mean weight: functions then have about unit length, as eigenvectors have.
    scale = np.sqrt(operator.weights.mean())
    intercepts = (trivial.T @ operator.apply(G)) / np.sum(trivial**2, axis=0)[:, None]
    energy = operator.energy(Q)
    eigenvalues = nu**operator.power
    return Spectrum(
        eigenvalues=eigenvalues,
        energy=float(np.sum(eigenvalues**2)) if energy is None else energy,
        n_samples=n,
        features=Eigenfunctions(
            operator,
            G * (scale / np.sqrt(operator.weights))[:, None],
            nu,
            intercepts * scale,
            residuals(operator, Q, G),
        ),
        shift=np.zeros(len(nu)),
        readout=np.diag(np.sqrt(eigenvalues)),
        is_complete=len(nu) < wanted or wanted >= n - Q.shape[1],
    )
