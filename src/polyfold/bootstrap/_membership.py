"""Who belongs nowhere: points that share fewer centres with their group than its members do."""

from dataclasses import dataclass

import numpy as np

from polyfold.bootstrap._output import gather, scatter


@dataclass(frozen=True)
class Membership:
    """Mean similarity of points with groups.

    Attributes
    ----------
    shares : (V·k, c)
        For every centre, what share of each group has it, divided by the number of clusterings.
    usual : (c,)
        Median, over its members, of the mean similarity with the group.
    n_centers : int
    """

    shares: np.ndarray
    usual: np.ndarray
    n_centers: int

    def similarity(self, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Mean similarity of (V, n) codes with the groups of given numbers: (n,)."""
        return np.take_along_axis(gather(codes, self.shares, self.n_centers), labels[:, None], axis=1)[:, 0]

    def without_noise(self, codes: np.ndarray, labels: np.ndarray, share: float) -> np.ndarray:
        """Labels, -1 where the similarity is below `share` of what is usual in the group."""
        return np.where(self.similarity(codes, labels) < share * self.usual[labels], -1, labels)


def fit_membership(codes: np.ndarray, n_centers: int, labels: np.ndarray, n_groups: int) -> Membership:
    """Similarity with groups of training points, given by their labels."""
    indicators = np.eye(n_groups)[labels]
    sizes = np.maximum(indicators.sum(axis=0), 1.0)
    shares = scatter(codes, indicators / sizes, n_centers) / len(codes)
    own = Membership(shares, np.zeros(n_groups), n_centers).similarity(codes, labels)
    usual = [np.median(own[labels == group]) if (labels == group).any() else 0.0 for group in range(n_groups)]
    return Membership(shares, np.array(usual), n_centers)
