"""The network: layers of clusterings, fitted from bottom up, and the codes of old and new points.

Names: the paper's k_l is `sizes[l]`, its V `n_clusterings`, its a `feature_fraction`, its sparse representation h is
stored as the index of its one nonzero entry, a *code* [Zhang2016, sec. 2].

Memory follows [Zhang2016, theorem 3]: a layer keeps the indices of its centres, V·k numbers, and the codes of the
training points, V·n numbers of one or two bytes; nothing of size n × k exists.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyfold._progress import phase, track
from polyfold._threads import threaded
from polyfold.bootstrap._bottom import Bottom, DenseBottom
from polyfold.bootstrap._checkpoint import Checkpoint, Parts, layer_parts
from polyfold.bootstrap._draws import Draw, draw
from polyfold.bootstrap._matching import code_dtype, match
from polyfold.bootstrap._prepared import Prepared
from polyfold.bootstrap._shared import BLOCK, SharedCodes, match_blocks, prefers_shared
from polyfold.neighbors import list_recall

# Points per clustering whose exact centre is found, to estimate the error of the approximate search.
PROBES = 20
# What is made when it is needed, or kept for the time of a fit.
UNSTORED = ("_prepared", "_lists")
# Blocks of a stream are asked side by side, and prepare nothing twice.
_PREPARING = threading.Lock()


@dataclass
class Network:
    """A fitted network without its output layer.

    Attributes
    ----------
    bottom : Bottom
        How the bottom layer finds nearest centres; holds the training data.
    sizes : list of int
        Centres per clustering, layer by layer.
    draws : list of list of Draw
        What every clustering of every layer is made of.
    codes : list of (V, n) unsigned
        Codes of the training points in every layer.
    disagreement : float
        Estimated share of assignments of the bottom layer that differ from the exact ones.
    recall : float
        Estimated share of the true neighbours in the lists that the candidates came from.
    n_stacks : int
        Networks side by side of which it is made: equal parts of the clusterings, in every layer.
    """

    bottom: Bottom
    sizes: list[int]
    draws: list[list[Draw]] = field(default_factory=list, repr=False)
    codes: list[np.ndarray] = field(default_factory=list, repr=False)
    disagreement: float = 0.0
    recall: float = 1.0
    n_stacks: int = 1

    def encode(self, X: Any, layer: int, *, neighbors: np.ndarray | None = None, n_jobs: int = 1) -> np.ndarray:
        """Codes of new points in a layer (0 is the bottom), whose lists may be known already: (V, n)."""
        return self._encode_up_to(X, layer, neighbors, n_jobs)[-1]

    def encode_layers(self, X: Any, *, n_jobs: int = 1) -> list[np.ndarray]:
        """Codes of new points in every layer: (V, n) each."""
        return self._encode_up_to(X, len(self.sizes) - 1, None, n_jobs)

    def keep_lists(self, neighbors: np.ndarray | None) -> None:
        """Keep what the bottom layer has found for the training rows until it is released."""
        self._lists = neighbors

    def release_lists(self) -> np.ndarray | None:
        """Return the lists of the training rows that were kept, if any, and keep them no longer."""
        return vars(self).pop("_lists", None)

    def training_lists(self, *, n_jobs: int = 1) -> np.ndarray | None:
        """Return the lists of the training rows, without themselves; None unless new rows are searched for alike.

        They are those that were kept, which are released. A fit from a checkpoint may have kept none: they are then
        found again.
        """
        kept, bottom = self.release_lists(), self.bottom
        if not isinstance(bottom, DenseBottom) or not bottom.searches:
            return None
        return bottom.neighbors(bottom.X, own=True, n_jobs=n_jobs) if kept is None else kept

    def _encode_up_to(self, X: Any, layer: int, neighbors: np.ndarray | None, n_jobs: int) -> list[np.ndarray]:
        if neighbors is None:
            neighbors = self.bottom.neighbors(X, own=False, n_jobs=n_jobs)
        prepared = self._prepare()
        first = prepared.assign_bottom(X, neighbors, n_jobs)
        if first is None:
            first = _run(
                lambda d: self.bottom.assign(X, d, neighbors, own=False),
                self.draws[0],
                self.sizes[0],
                X.shape[0],
                n_jobs,
            )
        codes = [first if neighbors is None else self._first_of_equals(first)]
        for level in range(1, layer + 1):
            found = prepared.assign_upper(codes[-1], level, n_jobs)
            codes.append(self._assign_layer(codes[-1], level, n_jobs) if found is None else found)
        return [part.astype(code_dtype(size), copy=False) for part, size in zip(codes, self.sizes, strict=False)]

    def _first_of_equals(self, codes: np.ndarray) -> np.ndarray:
        """Give every point the first of the centres equal to the one that its list held, as the fit does."""
        if isinstance(self.bottom, DenseBottom):
            for found, draw, own in zip(codes, self.draws[0], self.codes[0], strict=True):
                found[:] = own[draw.rows][found]
        return codes

    def _prepare(self) -> Prepared:
        """Return what new points share; made when it is asked for, and not stored with the network."""
        with _PREPARING:
            if not hasattr(self, "_prepared"):
                self._prepared = Prepared(self.bottom, self.sizes, self.draws, self.codes, self.n_stacks)
            return self._prepared

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in UNSTORED}

    def _assign_layer(
        self, below: np.ndarray, level: int, n_jobs: int, what: str | None = None, checkpoint: Checkpoint | None = None
    ) -> np.ndarray:
        """Nearest centres, in all clusterings of an upper layer, of points given by their codes below: (V, m)."""
        draws, size, n_codes = self.draws[level], self.sizes[level], self.sizes[level - 1]
        training, m = self.codes[level - 1], below.shape[1]
        shifted = any(len(d.shifted) for d in draws)
        V = len(draws) // self.n_stacks
        if not shifted and prefers_shared(m, training.shape[1], V, size, n_codes):
            label = what and f"{what}, samples by {BLOCK}"
            parts = layer_parts(checkpoint, level, "-samples")
            return match_blocks(SharedCodes.of(training, n_codes, draws), below, size, n_jobs, label, parts)
        label = what and f"{what}, clusterings"
        parts = layer_parts(checkpoint, level)
        return _run(lambda d: self._assign(below, d, level), draws, size, m, n_jobs, label, parts)

    def _assign(self, below: np.ndarray, d: Draw, level: int) -> np.ndarray:
        """Nearest centres, in one clustering of an upper layer, of points given by their codes below."""
        training = self.codes[level - 1]
        centers = training[d.chosen[:, None], d.rows]
        centers[d.shifted] = np.roll(centers[d.shifted], 1, axis=1)
        return match(below, d.chosen, centers, self.sizes[level - 1])


def fit_network(
    X: Any,
    bottom: Bottom,
    sizes: list[int],
    *,
    n_clusterings: int,
    feature_fraction: float | tuple[float, float],
    reconstruction: float,
    seed: int,
    first: int = 0,
    neighbors: np.ndarray | None = None,
    n_jobs: int = 1,
    checkpoint: Checkpoint | None = None,
) -> Network:
    """Fit a network from bottom up.

    Parameters
    ----------
    X : (n, d) dense or CSR
        What `bottom` assigns.
    bottom : Bottom
    sizes : list of int
        Centres per clustering of every layer.
    n_clusterings : int
        Clusterings per layer.
    feature_fraction : float or pair of float
        Share of the features, or of the clusterings below, that every clustering sees; a pair if they differ.
    reconstruction : float
        Share of those whose values move to the next centre.
    seed : int
        Decides everything, together with layer and clustering.
    first : int, default=0
        Number of the first clustering, where the network is one of several with the same seed.
    neighbors : optional
        What `bottom` finds for the rows of `X` themselves, where it is known already.
    n_jobs : int
        Threads.
    checkpoint : Checkpoint, optional
        Where finished layers are stored, and read from if they are there.

    Returns
    -------
    Network
    """
    network = Network(bottom, list(sizes))
    shares = feature_fraction if isinstance(feature_fraction, tuple) else (feature_fraction, feature_fraction)
    for level, size in enumerate(sizes):
        width = n_clusterings if level else X.shape[1]
        network.draws.append(
            [
                draw(
                    (seed, level, first + v),
                    n_rows=X.shape[0],
                    n_centers=size,
                    n_features=width,
                    fraction=shares[level > 0],
                    reconstruction=reconstruction,
                )
                for v in range(n_clusterings)
            ]
        )
        stored = checkpoint.load(level) if checkpoint is not None else None
        with phase(f"layer {level + 1}/{len(sizes)}"):
            if stored is None:
                stored = _fit_layer(network, X, level, seed, first, neighbors, n_jobs, checkpoint)
                if checkpoint is not None:
                    checkpoint.save(level, **stored)
        network.codes.append(stored["codes"])
        network.disagreement = float(stored.get("disagreement", network.disagreement))
        network.recall = float(stored.get("recall", network.recall))
    return network


def _costs(
    bottom: Bottom, shape: tuple[int, int], sizes: list[int], V: int, fraction: float, *, searches: bool
) -> dict[str, float]:
    """Return about how many seconds every layer takes."""
    n, d = shape
    exact = 1.2e-11 * V * n * sizes[0] * fraction * d
    lists = 1e-8 * V * n * fraction * d + searches * 2e-8 * n * min(n, 2**16)
    first = lists if getattr(bottom, "n_candidates", 0) else exact
    upper = 2.5e-9 * V * (V + 50) * n
    return {f"layer {i + 1}/{len(sizes)}": upper if i else first for i in range(len(sizes))}


def _fit_layer(
    network: Network,
    X: Any,
    level: int,
    seed: int,
    first: int,
    neighbors: np.ndarray | None,
    n_jobs: int,
    checkpoint: Checkpoint | None,
) -> dict[str, np.ndarray]:
    """Codes of the training points in one layer, and the estimated error of the bottom one."""
    draws, size, bottom = network.draws[level], network.sizes[level], network.bottom
    what = f"layer {level + 1}/{len(network.sizes)}"
    if level:
        return {"codes": network._assign_layer(network.codes[level - 1], level, n_jobs, what, checkpoint)}
    if neighbors is None:
        neighbors = bottom.neighbors(X, own=True, n_jobs=n_jobs, checkpoint=checkpoint)
        network.keep_lists(neighbors)
    label, parts = f"{what}, clusterings", layer_parts(checkpoint, level)
    codes = _run(lambda d: bottom.assign(X, d, neighbors, own=True), draws, size, X.shape[0], n_jobs, label, parts)
    # Of networks with the same seed, the first speaks for all.
    if not isinstance(bottom, DenseBottom) or neighbors is None or first:
        return {"codes": codes}
    error = _estimate_error(bottom, codes, draws, seed, n_jobs)
    recall = list_recall(X, neighbors, unit=bottom.unit, seed=seed)
    return {"codes": codes, "disagreement": np.array(error), "recall": np.array(recall)}


def _estimate_error(bottom: DenseBottom, codes: np.ndarray, draws: list[Draw], seed: int, n_jobs: int) -> float:
    """Share of differing assignments among random points of every clustering."""

    def differing(v: int) -> float:
        # A second stream, far from the draws of the layers.
        probes = np.random.default_rng([seed, 2**31, v]).integers(codes.shape[1], size=PROBES)
        return float(np.mean(codes[v, probes] != bottom.exact(bottom.X[probes], draws[v])))

    return float(np.mean(list(threaded(differing, range(len(draws)), n_jobs))))


def _run(
    assign: Callable[[Draw], np.ndarray],
    draws: list[Draw],
    size: int,
    n: int,
    n_jobs: int,
    what: str | None = None,
    parts: Parts | None = None,
) -> np.ndarray:
    """Codes of all clusterings of a layer: (V, n), those that `parts` holds from an earlier run."""
    codes = np.empty((len(draws), n), dtype=code_dtype(size))
    first = 0 if parts is None else parts.fill(codes)
    results = threaded(assign, draws[first:], n_jobs)
    if what is not None:
        results = track(results, what, total=len(draws), known=first)
    for v, result in enumerate(results, start=first):
        codes[v] = result
        if parts is not None:
            parts.keep(codes, v + 1)
    return codes
