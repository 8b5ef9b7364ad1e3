"""Models in files that hold data and no code."""

from polyfold.saving._models import describe, load, save

__all__ = ["describe", "load", "save"]
