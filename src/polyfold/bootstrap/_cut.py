"""The similarity of a layer as a random walk: directions that part its groups, for k-means to read.

With S the matrix of shared centres of a layer and d its row sums, the leading eigenvectors of A = d^-1/2 S d^-1/2
are constant, but for the size of each row, on groups between which nothing is shared [Ng2002]. Multiplied by the
roots of their eigenvalues they are coordinates whose inner products are A; rows scaled to norm one lie near as many
points as there are groups, however unequal their sizes. Principal components, which weigh a direction by its
variance, lose the small ones, and in the layers near the data, where groups share little, most of them. S is never
formed (see `_output`).

Deviations from [Ng2002]: the eigenvalues as weights, which matter in the layers far from the data.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polyfold.bootstrap._matching import shared_centers
from polyfold.bootstrap._output import DENSE_POINTS, gather, largest_pairs, scatter
from polyfold.neighbors import unit_rows

# Columns beyond those asked for, and the change of the eigenvalues, relative to the gap to one, that ends the search.
OVERSAMPLING = 10
TOLERANCE = 1e-3
MOST_STEPS = 100


@dataclass(frozen=True)
class Cut:
    """Directions of a layer, as rows of norm one for any codes.

    Attributes
    ----------
    components : (V·k, p)
        What a code adds to the coordinates of a point.
    eigenvalues : (p,)
        Of the normalised similarity, falling from 1; as many are near 1 as there are groups apart.
    n_centers : int
    """

    components: np.ndarray
    eigenvalues: np.ndarray
    n_centers: int

    def transform(self, codes: np.ndarray, *, n_jobs: int = 1) -> np.ndarray:
        """Coordinates of (V, n) codes, of norm one: (n, p)."""
        return unit_rows(gather(codes, self.components, self.n_centers, n_jobs))


def fit_cut(codes: np.ndarray, n_centers: int, n_components: int, *, seed: int, n_jobs: int = 1) -> Cut:
    """Leading directions of the similarity of (V, n) codes.

    Notes
    -----
    O(n V p) time per step and O((n + V k) p) memory; up to 1500 points O(n³) and O(n²).
    """
    n_clusterings, n = codes.shape
    n_components = min(n_components, n)

    def multiply(Q: np.ndarray) -> np.ndarray:
        return gather(codes, scatter(codes, Q, n_centers, n_jobs), n_centers, n_jobs) / n_clusterings

    roots = np.sqrt(multiply(np.ones((n, 1))))
    if n <= DENSE_POINTS:
        S = shared_centers(codes, codes) / n_clusterings
        values, vectors = largest_pairs(S / (roots * roots.T), n_components)
    else:
        values, vectors = _leading(lambda Q: multiply(Q / roots) / roots, n, n_components, seed)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    values = np.clip(values, 0.0, 1.0)
    usable = values > n * np.finfo(np.float64).eps
    weights = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    return Cut(scatter(codes, vectors * weights / roots, n_centers, n_jobs), values, n_centers)


def _leading(
    multiply: Callable[[np.ndarray], np.ndarray], n: int, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs, rising, of the subspace to which the leading ones have converged."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, min(count + OVERSAMPLING, n))))[0]
    before = np.full(count, np.inf)
    for step in range(1, MOST_STEPS + 1):
        Y = multiply(Q)
        values, rotation = np.linalg.eigh(Q.T @ Y)
        leading = values[::-1][:count]
        moved = np.abs(leading - before).max()
        if moved <= TOLERANCE * max(1.0 - leading[-1], TOLERANCE) or step == MOST_STEPS:
            return values, Q @ rotation
        before, Q = leading, np.linalg.qr(Y @ rotation)[0]
    raise AssertionError("the last step returns")
