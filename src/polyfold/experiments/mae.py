"""Tables and figures of [Reeve2015], *Modular Autoencoders for Ensemble Feature Extraction*.

`_mae_speed`, `_mae_votes` and `_mae_plane` hold the experiments, `_mae_descent`, `_mae_sets` and `_mae_toy` what they
compute. Deviations: (1) modules are the closed form of the modular loss unless Algorithm 1 or gradient descent is
named; (2) the paper gives neither dimension nor λ of Table 1 nor the means of Figs. 3 to 5: those here are in the
settings; (3) where a claim needs one λ, it is the one that is best on the other folds.
"""

from polyfold.experiments import _mae_plane, _mae_speed, _mae_votes
from polyfold.experiments._mae_paper import PAPER

__all__ = ["PAPER", "_mae_plane", "_mae_speed", "_mae_votes"]
