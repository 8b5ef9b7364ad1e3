"""Uses of modules: votes, neighbours, compression, and the choice of the diversity."""

from polyfold.ensembles._classifier import ModularClassifier
from polyfold.ensembles._compressed import Compressed
from polyfold.ensembles._diversity_selection import DiversitySelection, select_diversity
from polyfold.ensembles._module_search import SearchResult
from polyfold.ensembles._neighbors import ModularNeighbors
from polyfold.ensembles._student import DropoutNetwork

__all__ = [
    "Compressed",
    "DiversitySelection",
    "DropoutNetwork",
    "ModularClassifier",
    "ModularNeighbors",
    "SearchResult",
    "select_diversity",
]
