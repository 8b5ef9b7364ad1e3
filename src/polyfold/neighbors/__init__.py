"""Who is near whom."""

from polyfold.neighbors._search import Neighborhoods, find_neighbors, distinct_rows

__all__ = ["Neighborhoods", "distinct_rows", "find_neighbors"]
