"""Spectral coordinates of the similarity of a layer, and membership of rows in clusters.

With S the matrix of shared centres of a layer and d its row sums, the leading eigenvectors of A = d^-1/2 S d^-1/2 are
constant, except for the size of each row, on groups between which nothing is shared [Ng2002]. Rows scaled to norm one
lie near as many points as there are groups, however unequal their sizes. S is never formed for many rows (see
`_output`).

Deviation from [Ng2002]: eigenvectors are multiplied by their eigenvalues, as in diffusion maps, so that eigenvectors
beyond the number of groups count less.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polyfold._linalg import unit_rows
from polyfold.bootstrap import DENSE_ROWS, gather, largest_pairs, scatter, shared_centers, stream_seed

# Columns beyond those asked for, the change of the eigenvalues, relative to the gap to one, that ends the iteration,
# and the largest number of steps.
OVERSAMPLING, TOLERANCE, MAX_STEPS = 10, 1e-3, 100


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

    def transform(self, codes: np.ndarray, *, n_jobs: int = 1) -> np.ndarray:
        """Coordinates of (V, n) codes, of norm one: (n, p)."""
        return unit_rows(gather(codes, self.components, self.n_centers, n_jobs))


def fit_spectral_readout(
    codes: np.ndarray, n_centers: int, n_components: int, *, seeds: np.random.SeedSequence, n_jobs: int = 1
) -> SpectralReadout:
    """Leading eigenvectors of the normalised similarity of (V, n) codes.

    Notes
    -----
    O(n V p) time per step and O((n + V k) p) memory; up to 1500 rows O(n³) and O(n²).
    """
    n_clusterings, n = codes.shape
    n_components = min(n_components, n)

    def multiply(Q: np.ndarray) -> np.ndarray:
        return gather(codes, scatter(codes, Q, n_centers, n_jobs), n_centers, n_jobs) / n_clusterings

    roots = np.sqrt(multiply(np.ones((n, 1))))
    if n <= DENSE_ROWS:
        S = shared_centers(codes, codes) / n_clusterings
        values, vectors = largest_pairs(S / (roots * roots.T), n_components)
    else:
        values, vectors = _leading(lambda Q: multiply(Q / roots) / roots, n, n_components, stream_seed(seeds))
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    values = np.clip(values, 0.0, 1.0)
    usable = values > n * np.finfo(np.float64).eps
    # Codes of a row times these give λ times the eigenvectors.
    return SpectralReadout(scatter(codes, vectors * usable / roots, n_centers, n_jobs), values, n_centers)


def _leading(
    multiply: Callable[[np.ndarray], np.ndarray], n: int, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs, rising, of the subspace to which the leading ones have converged."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, min(count + OVERSAMPLING, n))))[0]
    before = np.full(count, np.inf)
    for step in range(1, MAX_STEPS + 1):
        Y = multiply(Q)
        values, rotation = np.linalg.eigh(Q.T @ Y)
        leading = values[::-1][:count]
        moved = np.abs(leading - before).max()
        if moved <= TOLERANCE * max(1.0 - leading[-1], TOLERANCE) or step == MAX_STEPS:
            return values, Q @ rotation
        before, Q = leading, np.linalg.qr(Y @ rotation)[0]
    raise AssertionError("the last step returns")


@dataclass(frozen=True)
class Membership:
    """Mean similarity of rows with clusters, to find rows that belong to none.

    Attributes
    ----------
    weights : (V·k, c)
        For every centre, the fraction of each cluster that has it, divided by the number of clusterings.
    usual : (c,)
        Median, over its members, of the mean similarity with the cluster.
    n_centers : int
    """

    weights: np.ndarray
    usual: np.ndarray
    n_centers: int

    def similarity(self, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Mean similarity of (V, n) codes with the clusters of given numbers: (n,)."""
        return np.take_along_axis(gather(codes, self.weights, self.n_centers), labels[:, None], axis=1)[:, 0]

    def is_noise(self, codes: np.ndarray, labels: np.ndarray, fraction: float) -> np.ndarray:
        """Whether the similarity is below `fraction` of what is usual in the cluster: (n,)."""
        return self.similarity(codes, labels) < fraction * self.usual[labels]


def fit_membership(codes: np.ndarray, n_centers: int, labels: np.ndarray, n_clusters: int) -> Membership:
    """Similarity with clusters of training rows, given by their labels."""
    indicators = np.eye(n_clusters)[labels]
    sizes = np.maximum(indicators.sum(axis=0), 1.0)
    weights = scatter(codes, indicators / sizes, n_centers) / len(codes)
    similarity = Membership(weights, np.zeros(n_clusters), n_centers).similarity(codes, labels)
    usual = [np.median(similarity[labels == c]) if (labels == c).any() else 0.0 for c in range(n_clusters)]
    return Membership(weights, np.array(usual), n_centers)
