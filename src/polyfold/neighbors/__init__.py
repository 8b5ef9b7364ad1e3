"""Nearest neighbours by exact search, FAISS, PyNNDescent or given graphs, with one interface."""

from polyfold.neighbors._engines import fewest_neighbors as fewest_neighbors
from polyfold.neighbors._engines import sorted_lists as sorted_lists
from polyfold.neighbors._engines import with_own_zeros as with_own_zeros
from polyfold.neighbors._search import GRAPH_MODES as GRAPH_MODES
from polyfold.neighbors._search import RECALL_ROWS as RECALL_ROWS
from polyfold.neighbors._search import Neighborhoods as Neighborhoods
from polyfold.neighbors._search import Search as Search
from polyfold.neighbors._search import choose_engine as choose_engine
from polyfold.neighbors._search import find_neighbors as find_neighbors
from polyfold.neighbors._search import is_graph as is_graph
from polyfold.neighbors._search import make_search as make_search
from polyfold.neighbors._search import mode_graph as mode_graph
from polyfold.neighbors._search import neighbor_graph as neighbor_graph
from polyfold.neighbors._search import without_self as without_self
