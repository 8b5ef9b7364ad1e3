"""Tables and figures of [Zhang2016], *Multilayer Bootstrap Networks*.

Deviations: (1) nearest centres of the first layer are exact up to 5·10⁷ pairs of a point and a centre, above that
among 20 candidates of a neighbour graph; (2) the output is centred principal components, exact or randomised, where
the paper takes EM-PCA; (3) k-means starts at random points: its mean over 50 runs then is what the paper prints, while
careful starts give 2 to 5 points more; (4) sets, subsets and numbers of runs are those that every setting states.
"""

from polyfold.experiments import _mbn_digits, _mbn_sets, _mbn_sweeps, _mbn_taught, _mbn_text
from polyfold.experiments._mbn_paper import PAPER

PARTS = (_mbn_digits, _mbn_sets, _mbn_text, _mbn_sweeps, _mbn_taught)  # they register what they hold

__all__ = ["PAPER", "PARTS"]
