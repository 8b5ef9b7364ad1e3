"""The cut between kernels and what is done with them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot

from polyfold._linalg import row_blocks
from polyfold._progress import track
from polyfold._threads import threaded
from polyfold._typing import Matrix
from polyfold.kernels import Operator, PointFeatures


@dataclass(frozen=True)
class Spectrum:
    """Top eigenvalues of a centred kernel, and the coordinates of any point in their directions.

    Coordinates reproduce the kernel: c(x)·c(y) is the centred k(x, y), as far as r directions go.

    Parameters
    ----------
    eigenvalues : ndarray of shape (r,)
        Of the centred kernel matrix of the training points, descending and positive.
    energy : float
        Sum of the squares of all eigenvalues, ‖K‖², those beyond the first r included.
    n_samples : int
        Number of training points.
    features : PointFeatures
        Raw features of old and new points.
    shift : ndarray of shape (p,)
        Mean of the raw features.
    readout : ndarray of shape (p, r)
        c(x) = (features(x) - shift) @ readout.
    trace : float
        Sum of all eigenvalues, those beyond the first r included.
    is_complete : bool
        Whether there are no directions beyond the first r.
    """

    eigenvalues: NDArray
    energy: float
    n_samples: int
    features: PointFeatures
    shift: NDArray
    readout: NDArray
    trace: float = np.nan
    is_complete: bool = True

    @property
    def rank(self) -> int:
        """Number of directions kept."""
        return self.eigenvalues.shape[0]

    @property
    def operator(self) -> Operator | None:
        """Operator of a graph kernel; None for kernels of two points."""
        return getattr(self.features, "operator", None)

    def training_coordinates(self, dtype: Any = np.float64) -> NDArray:
        """Return c(x) of the training rows of a graph kernel, without a search for their neighbours.

        They are the `coordinates` of the same rows in `dtype`.
        """
        features: Any = self.features
        Z = features.operator.on_rows(features.functions @ self.readout.astype(dtype, copy=False))
        return Z.astype(dtype, copy=False)

    def coordinates(self, X: Matrix, weights: NDArray | None = None) -> NDArray:
        """Return c(x), or c(x) @ weights, for the rows of `X`, block by block.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
        weights : ndarray of shape (k, w), default=None
            Applied to the first k ≤ r coordinates.

        Returns
        -------
        coordinates : ndarray of shape (n, r) or (n, w)
        """
        readout = self.readout if weights is None else self.readout[:, : weights.shape[0]] @ weights
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        # Far from the origin the last digits of the shift count: those that `dtype` lacks are taken off at the end.
        shift = self.shift.astype(dtype, copy=False)
        rest = ((self.shift - shift) @ readout).astype(dtype)
        readout = readout.astype(dtype, copy=False)
        out = np.empty((X.shape[0], readout.shape[1]), dtype=dtype)

        def fill(rows: slice) -> None:
            raw = self.features.transform(X[rows])
            if sp.issparse(raw):
                out[rows] = safe_sparse_dot(raw, readout) - shift @ readout
            else:
                np.matmul(raw - shift, readout, out=out[rows])
            out[rows] -= rest

        blocks = list(row_blocks(X.shape[0], self.shift.shape[0], out.itemsize))
        for _ in track(threaded(fill, blocks), "projected blocks", total=len(blocks)):
            pass
        return out
