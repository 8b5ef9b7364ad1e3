"""Kernel to spectrum: top eigenvalues, and coordinates of any point, old or new."""

from polyfold.spectra._builder import FEATURE_MAPS, SpectrumBuilder, choose_feature_map
from polyfold.spectra._dense import spectrum_from_kernel
from polyfold.spectra._linear import linear_spectrum, update_linear_spectrum
from polyfold.spectra._moments import Moments, spectrum_from_moments
from polyfold.spectra._operator import spectrum_from_operator
from polyfold.spectra._spectrum import Spectrum

__all__ = [
    "FEATURE_MAPS",
    "Moments",
    "Spectrum",
    "SpectrumBuilder",
    "choose_feature_map",
    "linear_spectrum",
    "spectrum_from_kernel",
    "spectrum_from_moments",
    "spectrum_from_operator",
    "update_linear_spectrum",
]
