"""Kernel to spectrum: top eigenvalues, and coordinates of any point, old or new."""

from polyfold.spectra._builder import FEATURE_MAPS as FEATURE_MAPS
from polyfold.spectra._builder import SpectrumBuilder as SpectrumBuilder
from polyfold.spectra._builder import choose_feature_map as choose_feature_map
from polyfold.spectra._builder import spectrum_of as spectrum_of
from polyfold.spectra._eigen import EIGEN_SOLVERS as EIGEN_SOLVERS
from polyfold.spectra._eigen import EigenSolver as EigenSolver
from polyfold.spectra._eigen import choose_solver as choose_solver
from polyfold.spectra._eigen import make_solver as make_solver
from polyfold.spectra._eigen import residuals as residuals
from polyfold.spectra._eigen import top_directions as top_directions
from polyfold.spectra._linear import linear_spectrum as linear_spectrum
from polyfold.spectra._linear import update_linear_spectrum as update_linear_spectrum
from polyfold.spectra._operator_spectrum import spectrum_from_operator as spectrum_from_operator
from polyfold.spectra._spectrum import Spectrum as Spectrum
