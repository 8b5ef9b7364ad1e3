"""Modular regression networks and deep modular autoencoders, trained with torch (extra ``torch``).

The classes can be imported without torch; fitting one says how to install it.
"""

from polyfold.networks._architecture import MLP
from polyfold.networks._autoencoder import ModularAutoencoderNetwork
from polyfold.networks._options import Training
from polyfold.networks._regressor import ModularRegressor

__all__ = ["MLP", "ModularAutoencoderNetwork", "ModularRegressor", "Training"]
