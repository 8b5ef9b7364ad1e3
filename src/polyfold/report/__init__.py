"""Plots and pages of fitted models."""

from polyfold.report._explore import Chapter, chapter, explore, write_page

__all__ = ["Chapter", "chapter", "explore", "write_page"]
