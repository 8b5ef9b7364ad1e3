"""Kernel to spectrum: top eigenvalues, and coordinates of any point, old or new."""

from polyfold.spectra._builder import (
    FEATURE_MAPS,
    Moments,
    SpectrumBuilder,
    choose_feature_map,
    spectrum_from_kernel,
    spectrum_from_moments,
    spectrum_of,
)
from polyfold.spectra._eigen import EIGEN_SOLVERS, EigenSolver, choose_solver, make_solver, residuals, top_directions
from polyfold.spectra._linear import linear_spectrum, update_linear_spectrum
from polyfold.spectra._operator_spectrum import spectrum_from_operator
from polyfold.spectra._spectrum import Spectrum

__all__ = [
    "EIGEN_SOLVERS",
    "FEATURE_MAPS",
    "EigenSolver",
    "Moments",
    "Spectrum",
    "SpectrumBuilder",
    "choose_feature_map",
    "choose_solver",
    "linear_spectrum",
    "make_solver",
    "residuals",
    "spectrum_from_kernel",
    "spectrum_from_moments",
    "spectrum_from_operator",
    "spectrum_of",
    "top_directions",
    "update_linear_spectrum",
]
