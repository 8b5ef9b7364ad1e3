"""Nearest neighbours by exact search, FAISS, PyNNDescent or given graphs, with one interface."""

from polyfold.neighbors._distinct import distinct_rows, n_distinct
from polyfold.neighbors._engines import fewest_neighbors, sorted_lists, with_own_zeros
from polyfold.neighbors._principal import PrincipalIndex, Screen, list_recall, principal_screen, unit_rows
from polyfold.neighbors._search import (
    Neighborhoods,
    Search,
    choose_engine,
    find_neighbors,
    is_graph,
    make_search,
    without_self,
)

n_places = n_distinct  # former name, for the bootstrap package

__all__ = [
    "Neighborhoods",
    "PrincipalIndex",
    "Screen",
    "Search",
    "choose_engine",
    "distinct_rows",
    "fewest_neighbors",
    "find_neighbors",
    "is_graph",
    "list_recall",
    "make_search",
    "n_distinct",
    "n_places",
    "principal_screen",
    "sorted_lists",
    "unit_rows",
    "with_own_zeros",
    "without_self",
]
