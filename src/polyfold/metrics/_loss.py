"""Losses of finished representations against a kernel matrix [Reeve2018, Defs. 1 and 3]."""

import numpy as np
from numpy.typing import ArrayLike

from polyfold._validation import check_numbers, check_real


def inner_product_loss(Z: ArrayLike, K: ArrayLike) -> float:
    """Return the mean squared difference of the inner products of `Z` and a kernel.

    Parameters
    ----------
    Z : array-like of shape (n, n_components)
        A representation.
    K : array-like of shape (n, n)
        The (centred) kernel matrix.

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from polyfold.metrics import inner_product_loss
    >>> inner_product_loss([[1.0], [-1.0]], [[1.0, -1.0], [-1.0, 1.0]])
    0.0
    """
    Z, K = check_numbers("Z", Z), check_numbers("K", K)
    if K.shape != (Z.shape[0], Z.shape[0]):
        raise ValueError(
            f"K must have shape {(Z.shape[0], Z.shape[0])} for {Z.shape[0]} rows of Z, got {K.shape}; "
            "pass the kernel of the same points."
        )
    return float(np.mean((Z @ Z.T - K) ** 2))


def modular_loss(modules: ArrayLike, K: ArrayLike, diversity: float) -> float:
    """Return the modular loss of modules for a kernel matrix.

    It is (1-λ) times the mean inner product loss of the modules plus λ times that of their composite.

    Parameters
    ----------
    modules : array-like of shape (n_modules, n, n_components)
        As returned by ``transform_modules``.
    K : array-like of shape (n, n)
        The (centred) kernel matrix.
    diversity : float
        λ in [0, 1].

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from polyfold.metrics import modular_loss
    >>> round(modular_loss([[[1.0], [0.0]], [[0.0], [1.0]]], [[0.5, 0.0], [0.0, 0.5]], diversity=0.5), 6)
    0.0625
    """
    check_real("diversity", diversity, minimum=0, maximum=1)
    modules = check_numbers("modules", modules, ndim=3)
    M, n, H = modules.shape
    composite = modules.transpose(1, 0, 2).reshape(n, M * H) / np.sqrt(M)
    single = float(np.mean([inner_product_loss(Z, K) for Z in modules]))
    return (1 - diversity) * single + diversity * inner_product_loss(composite, K)
