"""Who is near whom: exact, FAISS, PyNNDescent or given; one way for graphs, search and networks."""

from polyfold._linalg import distinct_rows, n_distinct
from polyfold.neighbors._engines import fewest_neighbors, sorted_lists, with_own_zeros
from polyfold.neighbors._links import Links
from polyfold.neighbors._nearest import nearest_rows
from polyfold.neighbors._search import Neighborhoods, Search, choose_engine, find_neighbors, is_graph, make_search
from polyfold.neighbors._walk import ask_for_row

__all__ = [
    "Links",
    "Neighborhoods",
    "Search",
    "ask_for_row",
    "choose_engine",
    "distinct_rows",
    "fewest_neighbors",
    "find_neighbors",
    "is_graph",
    "make_search",
    "n_distinct",
    "nearest_rows",
    "sorted_lists",
    "with_own_zeros",
]
