"""Modular regression networks and deep modular autoencoders, trained with torch (extra ``torch``).

The classes can be imported without torch; fitting one without it raises an error with the pip command.
"""

from polyfold.estimators import ModularAutoencoderNetwork, ModularRegressor
from polyfold.training import MLP, Training

__all__ = ["MLP", "ModularAutoencoderNetwork", "ModularRegressor", "Training"]
