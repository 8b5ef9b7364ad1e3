"""Plots of fitted models in scikit-learn's display style, and an HTML explorer (extra ``plot``)."""

from polyfold.report._bars import RedundancyDisplay
from polyfold.report._curves import AllocationDisplay, DiversityDisplay, LossDisplay, ScreeDisplay
from polyfold.report._explanations import ExplanationDisplay
from polyfold.report._explore import Chapter, chapter, explore, write_page
from polyfold.report._icicle import ClusterTreeDisplay
from polyfold.report._points import labels_of_levels as labels_of_levels
from polyfold.report._scatter import RepresentationDisplay, ViewsDisplay
from polyfold.report._scores import score_model as score_model
from polyfold.report._strips import RetrievalDisplay
from polyfold.report._views import repeats as repeats
from polyfold.report._views import unwrap as unwrap

# The other names are for the package itself.
__all__ = [
    "AllocationDisplay",
    "Chapter",
    "ClusterTreeDisplay",
    "DiversityDisplay",
    "ExplanationDisplay",
    "LossDisplay",
    "RedundancyDisplay",
    "RepresentationDisplay",
    "RetrievalDisplay",
    "ScreeDisplay",
    "ViewsDisplay",
    "chapter",
    "explore",
    "write_page",
]
