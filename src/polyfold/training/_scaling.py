"""Rows as networks want them: centred, of unit spread, in single precision."""

import warnings

import numpy as np

from polyfold._validation import check_range, outside
from polyfold.exceptions import DegenerateDataWarning


class Scaling:
    """Shift by the mean and divide by one number, so that units do not matter to the learning rate."""

    def __init__(self, X: np.ndarray):
        # Sums in another memory order differ in the last digit, and training would amplify that.
        X = np.ascontiguousarray(X)
        self.mean = X.mean(axis=0, dtype=np.float64)
        spread = float(np.sqrt(np.mean(np.square(X - self.mean))))
        self.scale = spread if spread > 0 else 1.0
        if spread == 0:
            message = "all rows are equal, so that there is nothing to learn; check the data."
            warnings.warn(message, DegenerateDataWarning, stacklevel=outside())

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return scaled float32 rows."""
        with np.errstate(over="ignore"):
            rows = ((np.ascontiguousarray(X) - self.mean) / self.scale).astype(np.float32)
        check_range(rows, "X, in units of the spread of the training rows,")
        return rows

    def undo(self, X: np.ndarray) -> np.ndarray:
        """Return rows in the original units."""
        return X * self.scale + self.mean
