"""A network made of several independent ones, side by side: it grows until its similarity is known well enough.

Clusterings of a layer are independent given the layer below. A *stack* is a small network of its own; the codes of
all stacks are read together, like those of one wide network. The cost is then proportional to the number of
clusterings instead of its square, the stacks tell how far the similarity is still a matter of chance, and two halves
of them, which share nothing but the data, tell how far a grouping is.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polyfold._progress import phase, track
from polyfold.bootstrap._bottom import Bottom
from polyfold.bootstrap._checkpoint import Checkpoint
from polyfold.bootstrap._network import Network, fit_network

# Clusterings of a stack, fewest and most stacks, and the reliability at which no more are added.
STACK = 50
FEWEST, MOST = 2, 8
RELIABLE = 0.95
# Pairs of points whose similarity is compared.
PAIRS = 20_000


def fit_stacks(
    X: Any,
    bottom: Bottom,
    sizes: list[int],
    *,
    seed: int,
    n_jobs: int = 1,
    checkpoint: Callable[[int | None], Checkpoint | None] = lambda stack: None,
    **options: Any,
) -> tuple[Network, float, float]:
    """Fit pairs of stacks until the similarity of the last layer is reliable.

    Parameters
    ----------
    X : (n, d) dense or CSR
    bottom : Bottom
    sizes : list of int
    seed : int
    n_jobs : int
    options : dict
        As in `fit_network`.
    checkpoint : callable
        Where the layers of a stack, given by its number, are stored; of None, what all of them share.

    Returns
    -------
    network : Network
    reliability : float
        Estimated squared correlation of the similarity with that of endlessly many clusterings, over pairs of points.
    error : float
        Its standard error.
    """
    # A stack is a few seconds where the search for neighbours of many points is a minute.
    n = X.shape[0]
    with phase("neighbours"):
        neighbors = bottom.neighbors(X, own=True, n_jobs=n_jobs, checkpoint=checkpoint(None))
    rng = np.random.default_rng([seed, 2**31 + 1])
    pairs = rng.integers(n, size=(2, PAIRS))
    networks: list[Network] = []
    shares: list[np.ndarray] = []
    value = error = 0.0
    with phase("stacks"):
        # In pairs, at most so many: a bar that expects them all ends early rather than late.
        for number in track(range(MOST), "stacks"):
            networks.append(
                fit_network(
                    X,
                    bottom,
                    sizes,
                    n_clusterings=STACK,
                    seed=seed,
                    first=number * STACK,
                    neighbors=neighbors,
                    n_jobs=n_jobs,
                    checkpoint=checkpoint(number),
                    **options,
                )
            )
            codes = networks[-1].codes[-1]
            shares.append((codes[:, pairs[0]] == codes[:, pairs[1]]).mean(axis=0))
            if len(networks) % FEWEST == 0:
                value, error = reliability(np.array(shares))
                if value >= RELIABLE:
                    break
    joined = join(networks)
    joined.keep_lists(neighbors)
    return joined, value, error


def reliability(shares: np.ndarray) -> tuple[float, float]:
    """Estimate how much of the mean of rows would come again with other rows (Spearman and Brown), and the error.

    Parameters
    ----------
    shares : (s, p)
        Independent measurements of the same p quantities.

    Examples
    --------
    >>> import numpy as np
    >>> truth, noise = np.random.default_rng(0).standard_normal((2, 4, 5000))
    >>> round(reliability(truth[0] + noise)[0], 1)
    0.8
    """
    count = len(shares)
    centered = shares - shares.mean(axis=1, keepdims=True)
    common = centered.sum(axis=0)
    own = (centered**2).sum(axis=0)
    # Products of different rows, and of rows with themselves: means over pairs of points, with their spread.
    cross = (common**2 - own) / (count * (count - 1))
    total = own / count
    if not total.any():
        return 1.0, 0.0
    correlation = float(np.clip(cross.mean() / total.mean(), 0.0, 1.0))
    value = count * correlation / (1.0 + (count - 1) * correlation)
    # The ratio's error, to first order; the derivative of the formula carries it over.
    spread = np.std(cross - correlation * total) / (np.sqrt(shares.shape[1]) * total.mean())
    return value, float(spread * count / (1.0 + (count - 1) * correlation) ** 2)


def join(networks: Sequence[Network]) -> Network:
    """Return one network with the clusterings of all; those of upper layers go on seeing their own stack."""
    joined = replace(networks[0], draws=[], codes=[], n_stacks=len(networks))
    for level in range(len(joined.sizes)):
        offsets = np.cumsum([0] + [len(network.draws[level - 1]) for network in networks[:-1]]) * (level > 0)
        joined.draws.append(
            [
                replace(draw, chosen=draw.chosen + np.int32(offset))
                for network, offset in zip(networks, offsets, strict=True)
                for draw in network.draws[level]
            ]
        )
        joined.codes.append(np.vstack([network.codes[level] for network in networks]))
    return joined


def halves(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the first and the second half of the stacks, which are independent of each other."""
    middle = len(codes) // 2
    return codes[:middle], codes[middle:]
