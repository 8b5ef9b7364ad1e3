"""Nearest neighbours by exact search, FAISS, PyNNDescent or given graphs, with one interface."""

from polyfold.neighbors._engines import fewest_neighbors, sorted_lists, with_own_zeros
from polyfold.neighbors._search import (
    RECALL_ROWS,
    Neighborhoods,
    Search,
    choose_engine,
    find_neighbors,
    is_graph,
    make_search,
    neighbor_graph,
    without_self,
)

__all__ = [
    "RECALL_ROWS",
    "Neighborhoods",
    "Search",
    "choose_engine",
    "fewest_neighbors",
    "find_neighbors",
    "is_graph",
    "make_search",
    "neighbor_graph",
    "sorted_lists",
    "with_own_zeros",
    "without_self",
]
