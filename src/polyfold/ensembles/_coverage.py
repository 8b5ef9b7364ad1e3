"""What of an index has answered a search: its shards of rows, and the modules of each."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyfold._validation import outside
from polyfold.exceptions import CoverageWarning


@dataclass(frozen=True)
class Coverage:
    """Which shards and modules answered; an index in memory is one shard, which always does.

    Attributes
    ----------
    answered : ndarray of bool of shape (n_shards, n_modules)
        Whether a shard's module was there, for all queries.
    modules : ndarray of int of shape (n_modules,)
        The modules that were asked.
    bounds : ndarray of int of shape (n_shards + 1,)
        Shard s holds the rows ``bounds[s]`` to ``bounds[s + 1] - 1``.
    """

    answered: NDArray
    modules: NDArray
    bounds: NDArray

    @classmethod
    def whole(cls, n_rows: int, modules: NDArray) -> "Coverage":
        """Return that of rows in memory."""
        return cls(np.ones((1, len(modules)), dtype=bool), modules, np.array([0, n_rows]))

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing: the answer is then that of one machine."""
        return bool(self.answered.all())

    @property
    def share(self) -> float:
        """Share of the rows and modules that answered, 1.0 where all did."""
        return float(np.diff(self.bounds) @ self.answered.mean(axis=1) / self.bounds[-1])

    @property
    def lost_shards(self) -> NDArray:
        """Shards of which no module answered: none of their rows can have been found."""
        return np.flatnonzero(~self.answered.any(axis=1))

    @property
    def lost_modules(self) -> NDArray:
        """Modules that no shard answered for."""
        return self.modules[~self.answered.any(axis=0)]

    def __and__(self, other: "Coverage") -> "Coverage":
        """Return what answered both times."""
        return Coverage(self.answered & other.answered, self.modules, self.bounds)

    def warn(self) -> None:
        """Warn once of all that is missing, if anything is."""
        if not self.is_complete:
            warnings.warn(
                f"the search is not complete: {self}; raise deadline, or search again when the workers are back.",
                CoverageWarning,
                stacklevel=outside(),
            )

    def __str__(self) -> str:
        if self.is_complete:
            return "all rows and modules answered"
        missing = [f"rows {self.bounds[s]} to {self.bounds[s + 1] - 1}" for s in self.lost_shards]
        missing += [f"module {m}" for m in self.lost_modules]
        some: NDArray = np.asarray(self.answered.any(axis=1))
        here: NDArray = some[:, None] & np.isin(self.modules, self.lost_modules, invert=True)
        missing += [
            f"module {self.modules[m]} of rows {self.bounds[s]} to {self.bounds[s + 1] - 1}"
            for s, m in np.argwhere(np.logical_and(here, ~self.answered))
        ]
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        return f"{self.share:.1%} of rows and modules answered, not {', '.join(missing[:3])}{more}"


class SearchResult(NamedTuple):
    """Neighbours, and what of the index has answered.

    Attributes
    ----------
    distances : ndarray of shape (n, n_neighbors)
        Root of the mean squared distance over the modules that answered; infinite where too few rows did.
    indices : ndarray of shape (n, n_neighbors)
        -1 where too few rows answered.
    coverage : Coverage
    """

    distances: NDArray
    indices: NDArray
    coverage: Coverage
