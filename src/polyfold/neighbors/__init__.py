"""Who is near whom: exact, FAISS, PyNNDescent or given; one way for graphs, search and networks."""

from polyfold.neighbors._distinct import distinct_rows, n_places
from polyfold.neighbors._engines import fewest_neighbors, sorted_lists, with_own_zeros
from polyfold.neighbors._links import Links
from polyfold.neighbors._nearest import nearest_rows
from polyfold.neighbors._principal import PrincipalIndex, Screen, list_recall, principal_screen, unit_rows
from polyfold.neighbors._search import Neighborhoods, Search, choose_engine, find_neighbors, is_graph, make_search
from polyfold.neighbors._walk import ask_for_row

__all__ = [
    "Links",
    "Neighborhoods",
    "PrincipalIndex",
    "Screen",
    "Search",
    "ask_for_row",
    "choose_engine",
    "distinct_rows",
    "fewest_neighbors",
    "find_neighbors",
    "is_graph",
    "list_recall",
    "make_search",
    "n_places",
    "nearest_rows",
    "principal_screen",
    "sorted_lists",
    "unit_rows",
    "with_own_zeros",
]
