"""Tables and figures of [Blau2017], *Non-Redundant Spectral Dimensionality Reduction*.

`_nrs_mnist`, `_nrs_manifolds` and `_nrs_images` hold the experiments, `_nrs_digits`, `_nrs_shapes` and `_nrs_pictures`
what they compute. Deviations: (1) the width of the smoother is found without labels (`bandwidth="auto"`, 0.6 on
digits), where the paper chose it by hand or on labelled images; (2) graphs have self-tuned weights and ten neighbours,
since the paper names neither; (3) reconstructions have the width that rebuilds best, for all methods alike; (4) results
on drawn data are means of several draws.
"""

from polyfold.experiments import _nrs_images, _nrs_manifolds, _nrs_mnist
from polyfold.experiments._nrs_paper import PAPER

__all__ = ["PAPER", "_nrs_images", "_nrs_manifolds", "_nrs_mnist"]
