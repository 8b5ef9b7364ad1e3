"""Plots and pages; they see arrays, never estimators."""

from polyfold.report._modules import (
    plot_class_densities,
    plot_decision_boundary,
    plot_ensemble_errors,
    plot_module_correlations,
)
from polyfold.report._page import Page
from polyfold.report._representation import plot_allocation, plot_diversity, plot_modules, plot_retrieval

__all__ = [
    "Page",
    "plot_allocation",
    "plot_class_densities",
    "plot_decision_boundary",
    "plot_diversity",
    "plot_ensemble_errors",
    "plot_module_correlations",
    "plot_modules",
    "plot_retrieval",
]
