"""Scores on finished representations; they see arrays, never estimators."""

from polyfold.metrics._distance_correlation import correlations as correlations
from polyfold.metrics._distance_correlation import distance_correlation, module_correlation, module_fidelity
from polyfold.metrics._labels import EnsembleErrors, clustering_accuracy, ensemble_errors, majority_vote, nmi
from polyfold.metrics._loss import inner_product_loss, modular_loss
from polyfold.metrics._redundancy import loo_reconstruction, psnr, redundancy
from polyfold.metrics._retrieval import average_accuracy_curve, retrieval_precision

# `correlations` is for the package itself.
__all__ = [
    "EnsembleErrors",
    "average_accuracy_curve",
    "clustering_accuracy",
    "distance_correlation",
    "ensemble_errors",
    "inner_product_loss",
    "loo_reconstruction",
    "majority_vote",
    "modular_loss",
    "module_correlation",
    "module_fidelity",
    "nmi",
    "psnr",
    "redundancy",
    "retrieval_precision",
]
