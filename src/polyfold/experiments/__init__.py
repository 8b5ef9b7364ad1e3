"""Whole jobs from data to table: the demo, and every table and figure of the papers."""

from polyfold.experiments._reproduce import listing, reproduce

__all__ = ["listing", "reproduce"]
