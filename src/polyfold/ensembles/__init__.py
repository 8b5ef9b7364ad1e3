"""What is done with modules: votes, retrieval, choosing how diverse they are."""

from polyfold.ensembles._classifier import ModularClassifier
from polyfold.ensembles._compressed import Compressed
from polyfold.ensembles._coverage import Coverage, SearchResult
from polyfold.ensembles._neighbors import ModularNeighbors
from polyfold.ensembles._selection import DiversitySelection, select_diversity
from polyfold.ensembles._student import DropoutNetwork

__all__ = [
    "Compressed",
    "Coverage",
    "DiversitySelection",
    "DropoutNetwork",
    "ModularClassifier",
    "ModularNeighbors",
    "SearchResult",
    "select_diversity",
]
