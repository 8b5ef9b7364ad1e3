"""The similarity of a layer as a random walk: directions that part its groups, for k-means to read.

With S the matrix of shared centres of a layer and d its row sums, the leading eigenvectors of A = d^-1/2 S d^-1/2
are constant, but for the size of each row, on groups between which nothing is shared [Ng2002]. Multiplied by the
roots of their eigenvalues they are coordinates whose inner products are A; rows scaled to norm one lie near as many
points as there are groups, however unequal their sizes. Principal components, which weigh a direction by its
variance, lose the small ones, and in the layers near the data, where groups share little, most of them. S is never
formed (see `_output`).

Rows of words may be given beside the codes: a document shares few words with any single centre, which is all that a
clustering compares it with, but something with many. Their cosine is then added to S, and counts as much as the codes.

Deviations from [Ng2002]: the eigenvalues as weights, which matter in the layers far from the data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

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
    features : (d, p), optional
        What a feature of a row of norm one adds, where rows count beside the codes.
    """

    components: np.ndarray
    eigenvalues: np.ndarray
    n_centers: int
    features: np.ndarray | None = None

    def transform(
        self, codes: np.ndarray, rows: Any = None, *, n_components: int | None = None, n_jobs: int = 1
    ) -> np.ndarray:
        """Coordinates of (V, n) codes, and of rows where they count, on the first directions, of norm one: (n, p)."""
        components = np.ascontiguousarray(self.components[:, :n_components])
        Z = gather(codes, components, self.n_centers, n_jobs)
        return unit_rows(Z if self.features is None else Z + unit_rows(rows) @ self.features[:, :n_components])


def fit_cut(
    codes: np.ndarray, n_centers: int, n_components: int, *, seed: int, rows: Any = None, n_jobs: int = 1
) -> Cut:
    """Leading directions of the similarity of (V, n) codes, and of the cosine of (n, d) rows beside it.

    Notes
    -----
    O(n V p) time per step and O((n + V k) p) memory; up to 1500 points O(n³) and O(n²).
    """
    n_clusterings, n = codes.shape
    n_components = min(n_components, n)

    def multiply_codes(Q: np.ndarray) -> np.ndarray:
        return gather(codes, scatter(codes, Q, n_centers, n_jobs), n_centers, n_jobs) / n_clusterings

    degrees, share = multiply_codes(np.ones((n, 1))), 0.0
    if rows is not None:
        rows = unit_rows(rows)
        near = rows @ (rows.T @ np.ones((n, 1)))
        share = float(degrees.sum() / (near.sum() or 1.0))
        degrees = degrees + share * near
    roots = np.sqrt(degrees)
    if n <= DENSE_POINTS:
        S = shared_centers(codes, codes) / n_clusterings
        if rows is not None:
            near = rows @ rows.T
            S += share * (near.toarray() if sp.issparse(near) else near)
        values, vectors = largest_pairs(S / (roots * roots.T), n_components)
    else:

        def multiply(Q: np.ndarray) -> np.ndarray:
            Q = Q / roots
            Y = multiply_codes(Q)
            return (Y if rows is None else Y + share * (rows @ (rows.T @ Q))) / roots

        values, vectors = _leading(multiply, n, n_components, seed)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    values = np.clip(values, 0.0, 1.0)
    usable = values > n * np.finfo(np.float64).eps
    weights = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    directions = vectors * weights / roots
    components = scatter(codes, directions, n_centers, n_jobs)
    if rows is None:
        return Cut(components, values, n_centers)
    # Codes are summed over the clusterings, not averaged: rows count as much as all of them.
    return Cut(components, values, n_centers, n_clusterings * share * np.asarray(rows.T @ directions))


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
