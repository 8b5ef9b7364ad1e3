"""Scores of neighbour lists."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["retrieval_precision"]


def retrieval_precision(found: ArrayLike, truth: ArrayLike) -> float:
    """Mean share of the true neighbours among those found [Reeve2018, Sec. 6.2].

    Parameters
    ----------
    found : array-like of int of shape (n, k)
        Indices found for every query; -1 stands for nothing.
    truth : array-like of int of shape (n, k)
        Indices of the true neighbours.

    Returns
    -------
    precision : float in [0, 1]

    Examples
    --------
    >>> from polyfold.metrics import retrieval_precision
    >>> retrieval_precision([[3, 1], [0, 5]], [[1, 2], [0, 5]])
    0.75
    """
    found, truth = np.asarray(found), np.asarray(truth)
    if found.shape[0] != truth.shape[0]:
        raise ValueError(f"found and truth must have as many rows, got {found.shape[0]} and {truth.shape[0]}.")
    hits = (found[:, :, None] == truth[:, None, :]).any(axis=1)
    return float(hits.mean())
