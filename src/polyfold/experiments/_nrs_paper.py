"""The paper [Blau2017] and what its experiments have in common."""

from typing import Any

import numpy as np

from polyfold.experiments._nrs_embeddings import LEM, OURS, PLAIN
from polyfold.experiments._registry import Paper

PAPER = Paper(
    "nrs",
    "Blau2017",
    "Non-Redundant Spectral Dimensionality Reduction",
    "The photograph of Figs. 7 and 8 could not be had (two of scikit-learn's stand in for it), and the heads of Fig. 6 "
    "have 32 × 32 pixels here instead of 64 × 64. Roll, strip and ring are drawn anew; their sizes are not printed.",
)
BOTH = (PLAIN, OURS)
SHORT = {"lle": "LLE", "hessian_lle": "HLLE", "ltsa": "LTSA", LEM: "LEM"}
NEWS = 0.5  # a coordinate of which less than half is left unpredicted repeats the earlier ones


def mean(values: list[Any]) -> float:
    """Mean of all draws."""
    return float(np.mean(values)) if values else float("nan")


def told(values: list[float], digits: int = 2) -> str:
    """Every draw of a number."""
    return " / ".join(f"{value:.{digits}f}" for value in values)
