"""What is computed from the codes of a layer: principal components, or spectral coordinates for clusters.

The one-of-k matrix H, divided by √V, has n rows and V·k columns with V entries each, and is never formed. A product
H B sums V rows of B per point, Hᵀ B adds each row of B to V rows. S = H Hᵀ is the matrix of shared centres. With few
points S itself is decomposed; otherwise a randomised range finder works with these products.

With d the row sums of S, the leading eigenvectors of A = d^-1/2 S d^-1/2 are constant, except for the size of each
row, on groups between which nothing is shared [Ng2002]. Rows scaled to norm one lie near as many points as there are
groups, however unequal their sizes.

Equation → function:

- PCA of the top layer [Zhang2016, sec. 2] → `fit_output`, `Output.transform`
- eigenvectors of A as rows of norm one [Ng2002] → `fit_spectral_readout`, `SpectralReadout.transform`

Deviation from [Ng2002]: eigenvectors are multiplied by their eigenvalues, as in diffusion maps, so that eigenvectors
beyond the number of groups count less.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, lobpcg

from polyfold._linalg import eigh_descending, fix_signs, unit_rows
from polyfold._threads import in_blocks, njit
from polyfold.bootstrap._code_search import check_codes, shared_centers, two_bytes
from polyfold.bootstrap._sampling import stream_seed

# Rows up to which the matrix of shared centres is decomposed; columns beyond the required ones, if there are more rows.
DENSE_ROWS, OVERSAMPLING = 1500, 10
# Steps for principal components. For spectral coordinates: the norm of the residuals that ends the iteration, and the
# largest number of steps.
POWER_STEPS, TOLERANCE, MAX_STEPS = 6, 1e-3, 40
# Points, and clusterings, that a thread takes at a time.
BLOCK, CLUSTERINGS = 4096, 25


@dataclass(frozen=True)
class Output:
    """Projection of codes on principal components.

    Attributes
    ----------
    components : (V·k, p)
        Rows of orthonormal columns, already divided by √V.
    shift : (p,)
        Coordinates of the mean, to be subtracted.
    variance : (p,)
        Variance of the training points along each component.
    n_centers : int
    """

    components: np.ndarray
    shift: np.ndarray
    variance: np.ndarray
    n_centers: int

    def transform(self, codes: np.ndarray) -> np.ndarray:
        """Coordinates of (V, n) codes: (n, p)."""
        return gather(codes, self.components, self.n_centers) - self.shift


def fit_output(codes: np.ndarray, n_centers: int, n_components: int, *, seed: int) -> Output:
    """Principal components of the centred one-of-k vectors of (V, n) codes.

    Components that the points do not span are zero. Signs are fixed: the entry of largest size of every
    component is positive.

    Notes
    -----
    O(n V p) time per power step, O((n + V k) p) memory; up to 1500 points O(n³) and O(n²).
    """
    n_clusterings, n = codes.shape
    if n <= DENSE_ROWS:
        left, values = _dense_left(codes, n_components)
    else:
        left, values = _randomized_left(codes, n_centers, n_components, seed)
    scatter_ = scatter(codes, left - left.mean(axis=0), n_centers) / np.sqrt(n_clusterings)
    usable = values > values[:1].sum() * n * np.finfo(np.float64).eps
    components = np.zeros((n_clusterings * n_centers, n_components))
    variance = np.zeros(n_components)
    count = int(usable.sum())
    components[:, :count] = scatter_[:, usable] / np.sqrt(values[usable])
    variance[:count] = values[usable] / n
    components = fix_signs(components) / np.sqrt(n_clusterings)
    sizes = scatter(codes, np.ones((n, 1)), n_centers)[:, 0]
    return Output(components, sizes @ components / n, variance, n_centers)


@dataclass(frozen=True)
class SpectralReadout:
    """Leading eigenvectors of a layer, as rows of norm one for any codes.

    Attributes
    ----------
    components : (V·k, p)
        What a code adds to the coordinates of a row.
    eigenvalues : (p,)
        Of the normalised similarity, falling from 1; as many are near 1 as there are separate groups.
    n_centers : int
    """

    components: np.ndarray
    eigenvalues: np.ndarray
    n_centers: int

    def transform(self, codes: np.ndarray) -> np.ndarray:
        """Coordinates of (V, n) codes, of norm one: (n, p)."""
        return unit_rows(gather(codes, self.components, self.n_centers))


def fit_spectral_readout(
    codes: np.ndarray, n_centers: int, n_components: int, *, seeds: np.random.SeedSequence
) -> SpectralReadout:
    """Leading eigenvectors of the normalised similarity of (V, n) codes.

    Notes
    -----
    O(n V p) time per step and O((n + V k) p) memory; up to 1500 rows O(n³) and O(n²).
    """
    n = codes.shape[1]
    n_components = min(n_components, n)
    multiply = _product(codes, n_centers)
    roots = np.sqrt(multiply(np.ones((n, 1))))
    if n <= DENSE_ROWS:
        S = shared_centers(codes, codes) / len(codes)
        values, vectors = eigh_descending(S / (roots * roots.T), n_components)
    else:
        values, vectors = _leading(lambda Q: multiply(Q / roots) / roots, n, n_components, stream_seed(seeds))
    values = np.clip(values, 0.0, 1.0)
    usable = values > n * np.finfo(np.float64).eps
    # Codes of a row times these give λ times the eigenvectors.
    return SpectralReadout(scatter(codes, vectors * usable / roots, n_centers), values, n_centers)


def gather(codes: np.ndarray, rows: np.ndarray, n_centers: int) -> np.ndarray:
    """Sum, for every point, the rows that its codes point at: one-of-k times (V·k, p), (n, p)."""
    check_codes(codes, len(rows) // n_centers, n_centers)
    codes, out = two_bytes(codes), np.zeros((codes.shape[1], rows.shape[1]))

    in_blocks(lambda part: _gather(codes[:, part], rows, n_centers, out[part]), len(out), BLOCK)
    return out


def scatter(codes: np.ndarray, points: np.ndarray, n_centers: int) -> np.ndarray:
    """Add the row of every point to the rows its codes point at: one-of-k transposed times (n, p), (V·k, p)."""
    codes, out = two_bytes(codes), np.zeros((len(codes) * n_centers, points.shape[1]))
    points = np.ascontiguousarray(points)  # eigenvectors come by columns, for which it would be compiled again

    def fill(part: slice) -> None:
        _scatter(codes[part], points, n_centers, out[part.start * n_centers : part.stop * n_centers])

    in_blocks(fill, len(codes), CLUSTERINGS)
    return out


def _dense_left(codes: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenvectors (n, p) and eigenvalues of the centred matrix of shared centres."""
    K = shared_centers(codes, codes) / len(codes)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    values, vectors = eigh_descending(K, n_components)
    return vectors, np.maximum(values, 0.0)


def _randomized_left(codes: np.ndarray, n_centers: int, n_components: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Leading left singular vectors (n, p) and squared singular values of the centred one-of-k matrix."""
    n = codes.shape[1]
    width = min(n_components + OVERSAMPLING, n - 1)
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, width)))[0]
    product = _product(codes, n_centers)

    def multiply(Q: np.ndarray) -> np.ndarray:
        Y = product(Q - Q.mean(axis=0))
        return Y - Y.mean(axis=0)

    for _ in range(POWER_STEPS):
        Q = np.linalg.qr(multiply(Q))[0]
    values, rotation = eigh_descending(Q.T @ multiply(Q), n_components)
    return Q @ rotation, np.maximum(values, 0.0)


def _leading(
    multiply: Callable[[np.ndarray], np.ndarray], n: int, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenvalues, falling, and eigenvectors of a symmetric operator whose largest eigenvalue is one.

    A block method, because eigenvalues are equal if groups share nothing, and Lanczos would miss some of them.
    """
    start = np.random.default_rng(seed).standard_normal((n, count + OVERSAMPLING))
    operator = LinearOperator((n, n), matvec=multiply, matmat=multiply, dtype=np.dtype(np.float64))
    with warnings.catch_warnings():
        # The best approximation is returned if the tolerance is not reached.
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = lobpcg(operator, start, tol=TOLERANCE, maxiter=MAX_STEPS)
    order = np.argsort(values)[::-1][:count]
    return values[order], vectors[:, order]


def _product(codes: np.ndarray, n_centers: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return what multiplies (n, p) matrices by the similarity of (V, n) codes, which is not formed."""
    return lambda Q: gather(codes, scatter(codes, Q, n_centers), n_centers) / len(codes)


@njit(nogil=True)
def _gather(codes, rows, k, out):
    for i in range(out.shape[0]):
        for v in range(codes.shape[0]):
            j = v * k + np.int64(codes[v, i])
            for c in range(out.shape[1]):
                out[i, c] += rows[j, c]


@njit(nogil=True)
def _scatter(codes, points, k, out):
    for v in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            j = v * k + np.int64(codes[v, i])
            for c in range(points.shape[1]):
                out[j, c] += points[i, c]
