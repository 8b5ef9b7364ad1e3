"""Tables and figures of [Reeve2018], *Modular Dimensionality Reduction*.

Tables and figures are numbered as in the version with the appendix, where Figs. 6 to 10 show on all sets what Figs. 2
to 5 show on some. Deviations: (1) modules are the closed form of the modular loss unless Algorithm 1 is named; (2)
test images are drawn, fewer than the published 50,000, in several draws instead of one split; (3) curves over H are
measured on a part of the training images.
"""

from polyfold.experiments import _mbm_figures, _mbm_tables
from polyfold.experiments._mbm_paper import PAPER

PARTS = (_mbm_tables, _mbm_figures)  # they register what they hold

__all__ = ["PAPER", "PARTS"]
