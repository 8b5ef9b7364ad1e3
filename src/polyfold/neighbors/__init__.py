"""Who is near whom."""

from polyfold.neighbors._search import Neighborhoods, distinct_rows, find_neighbors

__all__ = ["Neighborhoods", "distinct_rows", "find_neighbors"]
