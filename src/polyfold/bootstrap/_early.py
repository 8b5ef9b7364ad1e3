"""Labels of new points from their listed neighbours alone, where these leave no doubt.

Where the first layer uses lists, the codes of a point are centres among the training rows of its list, and all layers
above follow from those codes. If nearly all rows of the list have ended in one group, the point ends there, too, and
its codes need not be computed. How many it takes is learned from the training points: their lists, which do not hold
themselves, and their labels are known, so that what the lists say is compared with what the whole network has said.

The first stacks of a network could not take the place of the lists: one of four contradicts all of them together for
one MNIST image in forty, and its margin between means does not tell which.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

# Share of the points labelled early that may end elsewhere, at most with this confidence.
PROMISED, CONFIDENCE = 1 / 2000, 0.95
# Share of its members that a group may lose: one smaller than a list would disappear within what is promised.
LOST = 1 / 100
# Points of which rows are copied at a time.
BLOCK = 4096


@dataclass(frozen=True)
class Early:
    """When a list of neighbours tells the label of a point.

    Attributes
    ----------
    labels : (n,) int32
        Of the training points.
    length : int
        Neighbours of a list that count.
    fewest : int
        How many of them must have one label.
    share : float
        Of the training points, how many are labelled so.
    disagreement : float
        Upper bound of the share of these that the whole network labels otherwise.
    """

    labels: np.ndarray
    length: int
    fewest: int
    share: float
    disagreement: float

    def label(self, X: np.ndarray, points: np.ndarray, lists: np.ndarray) -> np.ndarray:
        """Labels of points, -1 where their lists do not tell: (m,) int32.

        Parameters
        ----------
        X : (n, d)
            Training rows.
        points : (m, d)
        lists : (m, l) int32
            Training rows by rising distance.
        """
        found, count = majority(lists[:, : self.length], self.labels)
        found[count < self.fewest] = -1
        for start in range(0, len(points), BLOCK):
            block = slice(start, start + BLOCK)
            first = lists[block, 0]
            # A copy of a training point has its codes: no matter what is around, it has its label.
            copies = (X[first] == points[block]).all(axis=1)
            found[block][copies] = self.labels[first[copies]]
        return found


def fit_early(lists: np.ndarray, labels: np.ndarray) -> Early | None:
    """Find how many neighbours must agree, from the (n, l) lists and the labels of the training points.

    Returns None where even those whose neighbours all agree end elsewhere too often, or are too few to tell.
    """
    length = lists.shape[1]
    found, count = majority(lists, labels)
    wrong = found != labels
    early = _at_least(count, length)
    bounds = _upper_bound(_at_least(count[wrong], length), early)
    kept = bounds <= PROMISED
    for group, size in enumerate(np.bincount(labels)):
        kept &= _at_least(count[wrong & (labels == group)], length) <= LOST * size
    # Of half of a list or less, the label in the middle says nothing.
    enough = length // 2 + 1 + np.flatnonzero(kept[length // 2 + 1 :])
    if not len(enough):
        return None
    fewest = int(enough[0])
    return Early(labels.copy(), length, fewest, float(early[fewest] / len(labels)), float(bounds[fewest]))


def majority(lists: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Label of more than half of every list, or any of its labels where there is none, and its count: (m,) each."""
    listed = np.sort(labels[lists], axis=1)
    middle = listed[:, lists.shape[1] // 2].copy()
    return middle, (listed == middle[:, None]).sum(axis=1)


def _at_least(counts: np.ndarray, length: int) -> np.ndarray:
    """How many counts are 0 or more, 1 or more, up to `length`: (length + 1,)."""
    return np.bincount(counts, minlength=length + 1)[::-1].cumsum()[::-1]


def _upper_bound(events: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """Largest share with which so few events are no surprise (Clopper and Pearson); 1 where nothing was tried."""
    return np.where(events < trials, betaincinv(events + 1, np.maximum(trials - events, 1), CONFIDENCE), 1.0)
