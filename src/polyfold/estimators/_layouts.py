"""Layouts of neighbour graphs in few dimensions: by eigenmaps of our own, by umap-learn or by openTSNE.

A graph comes as lists of neighbours, distances and indices of shape (n, k) each. Several graphs of the same points are
laid out together by the weighted mean of their edge weights: distances need not have a common unit.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

from polyfold._progress import track
from polyfold._validation import import_extra
from polyfold.exceptions import MissingExtraError
from polyfold.kernels import LaplacianEigenmaps
from polyfold.neighbors import Neighborhoods
from polyfold.spectra import Spectrum, spectrum_from_operator

LAYOUTS = ("auto", "spectral", "umap", "tsne")
PACKAGES = {"tsne": "openTSNE", "umap": "umap"}
# Above so many points umap-learn is the quicker one by far.
TSNE_POINTS = 20_000
# Points up to which a map has few, and some.
FEW_POINTS, SOME_POINTS = 1000, 3000
# Early steps of t-SNE: the start is a map already, which a third of the usual exaggeration keeps.
EARLY, EXAGGERATION, CHUNK = 100, 4, 50
# Neighbours by layout; t-SNE takes three times its largest perplexity.
NEIGHBORS = {"spectral": 10, "umap": 15}


@dataclass(frozen=True)
class Descent:
    """What t-SNE follows, and how.

    Attributes
    ----------
    perplexities : tuple of int
        Affinities are means over them: classes of images want few neighbours, text and trustworthiness more.
    theta : float
        Openness of the tree that gives the forces.
    late : int
        Steps after the early ones, a multiple of CHUNK.
    length : float
        Of a step, in units of openTSNE's "auto".
    exaggeration : float
        Of the affinities in the late steps.
    """

    perplexities: tuple[int, ...]
    theta: float
    late: int
    length: float
    exaggeration: float = 1.0


# Some thousand points can pay for close forces and steps until they rest, as umap-learn is slow there; of 5,000, the
# wide tree takes the time of a grid with cells of 2 at a third of its error, and affinities counted somewhat more make
# up for steps that are missing (text gains a point).
FEW = Descent(perplexities=(5, 30), theta=0.8, late=200, length=2)
SOME = Descent(perplexities=(10, 30), theta=0.5, late=400, length=2)
MANY = Descent(perplexities=(20,), theta=1.0, late=100, length=3, exaggeration=1.25)


@dataclass(frozen=True)
class Lists:
    """Neighbours of every point, nearest first, and how much they count beside those of other lists."""

    distances: NDArray
    indices: NDArray
    weight: float = 1.0

    def first(self, k: int) -> "Lists":
        """Return the nearest k alone."""
        return Lists(self.distances[:, :k], self.indices[:, :k], self.weight)


def choose_layout(wanted: str, n_samples: int, n_components: int) -> str:
    """Return what "auto" stands for: t-SNE, umap-learn for many points, or what is installed."""
    if wanted != "auto":
        return wanted
    order = ["tsne", "umap"] if n_samples <= TSNE_POINTS and n_components <= 2 else ["umap", "tsne"]
    usable = [name for name in order if find_spec(PACKAGES[name]) and (name == "umap" or n_components <= 2)]
    return usable[0] if usable else "spectral"


def require_layout(layout: str) -> Any:
    """Import the package of a layout, or say how to get it and how to do without."""
    try:
        return import_extra(PACKAGES[layout], "map")
    except MissingExtraError as error:
        raise MissingExtraError(f"{error}, or pass layout='spectral', which needs no further package.") from error


def eigenmaps(near: Neighborhoods, n_components: int) -> Spectrum | None:
    """Laplacian eigenmaps of neighbourhoods; None where their graph falls apart."""
    if connected_components(near.graph(), directed=False)[0] > 1:
        return None
    return spectrum_from_operator(LaplacianEigenmaps(step_time="unit").operator_of(near), n_components)


def count_neighbors(layout: str, n_samples: int) -> int:
    """Return how many neighbours of every point a layout takes."""
    wanted = 3 * max(_descent(n_samples).perplexities) if layout == "tsne" else NEIGHBORS[layout]
    return min(wanted, n_samples - 1)


def tsne_layout(graphs: Sequence[Lists], start: NDArray, *, seed: int) -> NDArray:
    """t-SNE of graphs, started from coordinates of the points: (n, n_components)."""
    tsne = require_layout("tsne")
    weights = np.array([graph.weight for graph in graphs]) / sum(graph.weight for graph in graphs)
    P = sum(w * _affinities(tsne, g) for w, g in zip(weights, graphs, strict=True))
    steps = _descent(len(start))
    Z = tsne.TSNEEmbedding(
        tsne.initialization.rescale(start),
        tsne.affinity.PrecomputedAffinities(P),
        negative_gradient_method="bh",
        theta=steps.theta,
        random_state=seed,
        n_jobs=1,  # several threads add up in another order
    )
    for done in track(range(0, EARLY + steps.late, CHUNK), f"t-SNE, steps of {CHUNK}"):
        exaggeration = EXAGGERATION if done < EARLY else steps.exaggeration
        rate = steps.length * len(start) / exaggeration
        Z.optimize(CHUNK, inplace=True, exaggeration=exaggeration, learning_rate=rate, momentum=0.8, n_jobs=1)
    return np.array(Z, dtype=np.float64)


def umap_layout(graphs: Sequence[Lists], start: NDArray, *, seed: int) -> NDArray:
    """umap-learn's layout of graphs, started from coordinates of the points: (n, n_components)."""
    umap = require_layout("umap").umap_
    weights = np.array([graph.weight for graph in graphs]) / sum(graph.weight for graph in graphs)
    fuzzy = sum(w * _fuzzy_set(umap, graph, seed) for w, graph in zip(weights, graphs, strict=True))
    a, b = umap.find_ab_params(1.0, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z, _ = umap.simplicial_set_embedding(
            np.asarray(start, dtype=np.float32),
            fuzzy.tocoo(),
            start.shape[1],
            initial_alpha=1.0,
            a=a,
            b=b,
            gamma=1.0,
            negative_sample_rate=5,
            n_epochs=None,
            init=_umap_start(start),
            random_state=check_random_state(seed),
            metric="euclidean",
            metric_kwds={},
            densmap=False,
            densmap_kwds={},
            output_dens=False,
        )
    return np.asarray(Z, dtype=np.float64)


def place(distances: NDArray, indices: NDArray, Z: NDArray) -> NDArray:
    """Coordinates of new points: means of those of their neighbours, the nearest counting most, shape (q, p).

    A point at no distance from a training point has its coordinates.
    """
    nearest = distances[:, :1]
    reach = np.mean(distances - nearest, axis=1, keepdims=True)
    weights = np.exp(-(distances - nearest) / np.where(reach > 0, reach, 1.0))
    weights /= weights.sum(axis=1, keepdims=True)
    placed = np.einsum("ij,ijp->ip", weights, Z[indices])
    return np.where(nearest == 0, Z[indices[:, 0]], placed)


def _descent(n_samples: int) -> Descent:
    return FEW if n_samples <= FEW_POINTS else SOME if n_samples <= SOME_POINTS else MANY


def _affinities(tsne: Any, graph: Lists) -> Any:
    """Mean of the affinities of all perplexities; each needs three times as many neighbours, or takes what there is."""
    n, k = graph.indices.shape
    sizes = [min(3 * perplexity, k) for perplexity in _descent(n).perplexities]
    return sum(_perplexity_affinities(tsne, graph.first(size), size / 3) for size in sizes) / len(sizes)


def _perplexity_affinities(tsne: Any, graph: Lists, perplexity: float) -> Any:
    # A point's affinities have no unit; a power of two changes no digit of its distances.
    unit = np.exp2(np.frexp(graph.distances.max(axis=1, keepdims=True))[1].astype(np.float64) - 1)
    index = tsne.nearest_neighbors.PrecomputedNeighbors(graph.indices, graph.distances / unit)
    return tsne.affinity.PerplexityBasedNN(knn_index=index, perplexity=perplexity, n_jobs=1).P


def _fuzzy_set(umap: Any, graph: Lists, seed: int) -> Any:
    own = np.arange(len(graph.indices))[:, None]
    # A point is its own first neighbour there.
    indices = np.hstack([own, graph.indices]).astype(np.int32)
    unit = graph.distances.max() or 1.0  # whatever it is, single precision holds what is divided by it
    distances = np.hstack([0.0 * own, graph.distances / unit]).astype(np.float32)
    return umap.fuzzy_simplicial_set(
        np.zeros((len(own), 1), dtype=np.float32),
        indices.shape[1],
        check_random_state(seed),
        "euclidean",
        knn_indices=indices,
        knn_dists=distances,
    )[0].tocsr()


def _umap_start(start: NDArray) -> NDArray:
    """Coordinates as wide as those that umap-learn starts from itself."""
    return (10 * start / np.abs(start).max()).astype(np.float32)
