"""The loss of modular regression networks [Reeve2015, eq. 2].

Eq. 2, the mean error minus λ times the spread of the modules, equals the form of Proposition 1,
(1 - λ) · mean error + λ · error of the mean, which `modular_objective` computes because it is a sum of
non-negative terms.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def modular_objective(outputs: "torch.Tensor", target: "torch.Tensor", diversity: float) -> "torch.Tensor":
    """Return L_λ averaged over the rows.

    Parameters
    ----------
    outputs : tensor of shape (M, n, q)
    target : tensor of shape (n, q)
    diversity : float

    Returns
    -------
    loss : tensor of shape ()
    """
    single = (outputs - target).square().sum(dim=2).mean()
    composite = (outputs.mean(dim=0) - target).square().sum(dim=1).mean()
    return (1 - diversity) * single + diversity * composite
