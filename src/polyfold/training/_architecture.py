"""What one module looks like: a factory from input and output size to a ``torch.nn.Module``."""

import itertools
from typing import TYPE_CHECKING, Literal, TypeAlias

from sklearn.base import BaseEstimator

from polyfold._validation import check_choice, check_count, check_real, import_extra

if TYPE_CHECKING:
    import torch
    from torch import nn

_ACTIVATIONS = {"relu": "ReLU", "tanh": "Tanh", "sigmoid": "Sigmoid", "gelu": "GELU", "elu": "ELU"}


Activation: TypeAlias = Literal["relu", "tanh", "sigmoid", "gelu", "elu"]


class MLP(BaseEstimator):
    """Build fully connected networks with a linear last layer.

    Call it with two sizes to get a new ``torch.nn.Sequential``; it can be passed wherever an architecture is
    expected. Without hidden layers the network is linear.

    Parameters
    ----------
    hidden : tuple of int, default=(64,)
        Sizes of the hidden layers.
    activation : {"relu", "tanh", "sigmoid", "gelu", "elu"}, default="relu"
        Activation after every hidden layer.
    bias : bool, default=True
        Whether the layers have an offset.
    dropout : float, default=0.0
        Fraction of the units of every hidden layer that are switched off in a training step.

    Examples
    --------
    >>> from polyfold.networks import MLP
    >>> MLP(hidden=(8, 4)).reversed()
    MLP(hidden=(4, 8))
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (64,),
        *,
        activation: Activation = "relu",
        bias: bool = True,
        dropout: float = 0.0,
    ):
        self.hidden = hidden
        self.activation: Activation = activation
        self.bias = bias
        self.dropout = dropout

    def __call__(self, n_inputs: int, n_outputs: int) -> "nn.Sequential":
        """Return a new network from `n_inputs` to `n_outputs`.

        Parameters
        ----------
        n_inputs : int
        n_outputs : int

        Returns
        -------
        network : torch.nn.Sequential
        """
        nn = import_extra("torch", "torch").nn
        check_choice("activation", self.activation, tuple(_ACTIVATIONS))
        check_real("dropout", self.dropout, minimum=0, maximum=0.99)
        sizes = [n_inputs, *(check_count("hidden", size) for size in self.hidden)]
        layers: list[torch.nn.Module] = []
        for before, after in itertools.pairwise(sizes):
            layers += [nn.Linear(before, after, bias=self.bias), getattr(nn, _ACTIVATIONS[self.activation])()]
            if self.dropout:
                layers.append(nn.Dropout(self.dropout))
        return nn.Sequential(*layers, nn.Linear(sizes[-1], n_outputs, bias=self.bias))

    def reversed(self) -> "MLP":
        """Return the same architecture with its hidden layers in the opposite order.

        Returns
        -------
        mirror : MLP
        """
        return MLP(tuple(self.hidden)[::-1], activation=self.activation, bias=self.bias, dropout=self.dropout)
