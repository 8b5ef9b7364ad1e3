"""The network: layers of clusterings, fitted from the first one up, and the codes of training rows and new ones.

Names: the paper's k_l is `sizes[l]`, its V `n_clusterings`, its a `feature_fraction`, its sparse representation h is
stored as the index of its one nonzero entry, a *code* [Zhang2016, sec. 2].

One protocol finds nearest centres, `assign(rows) -> codes`, for both fitting and prediction:

- dense rows, exactly: `DenseSearch`
- sparse rows, exactly: `SparseSearch`
- dense rows, among candidates from neighbour lists: `CandidateSearch`, if there are more than 96 columns or 5·10⁷ pairs
  of a row and a centre; given neighbour graphs: `GraphSearch`
- codes, in the layers above: `CodeSearch`

A network consists of *replicates*: independent networks of equal size whose codes are read together. Within a
replicate every clustering sees a part of the clusterings below, as in the paper; one replicate is the paper's network.
Replicates show how far the similarity, or a clustering of it, depends on the random draws.

Memory follows [Zhang2016, theorem 3]: a layer keeps the indices of its centres, V·k numbers, and the codes of the
training rows, V·n numbers of one or two bytes; nothing of size n × k exists.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from polyfold._linalg import n_distinct
from polyfold._policy import (
    CANDIDATE_DIRECTIONS,
    CANDIDATES,
    CODE_FRACTION,
    EXACT_PAIRS,
    MAX_REPLICATES,
    RELIABLE,
    REPLICATE_CLUSTERINGS,
)
from polyfold._progress import track
from polyfold._threads import threaded
from polyfold._validation import check_count
from polyfold.bootstrap._candidate_search import (
    CandidateLists,
    CandidateSearch,
    GraphSearch,
    check_graph,
    list_length,
)
from polyfold.bootstrap._code_search import CodeSearch, check_codes, code_dtype
from polyfold.bootstrap._dense_search import FEW_ROWS, DenseSearch, fit_bound
from polyfold.bootstrap._inverted_index import SparseSearch
from polyfold.bootstrap._layer_checkpoint import LayerCheckpoint
from polyfold.bootstrap._sampling import ClusteringSpec, child_stream, sample_clusterings
from polyfold.neighbors import sorted_lists

# Rows that a thread takes at a time in all clusterings; or pairs of a row and a clustering, if clusterings are shared.
BLOCK, TASK_ROWS = 1024, 8192
# Pairs of rows whose similarity is compared between replicates.
PAIRS = 20_000
# Blocks of a stream are encoded side by side, and build nothing twice.
_BUILDING = threading.Lock()


class LayerSearch(Protocol):
    """Nearest centres of rows in the clusterings of one layer."""

    specs: list[ClusteringSpec]
    # Whether threads share the work by clusterings, or by blocks of rows.
    by_clustering: bool

    def assign(self, rows: Any) -> np.ndarray:
        """Index of the nearest centre of every row, in every clustering: (v, n)."""
        ...


class FirstLayer(LayerSearch, Protocol):
    """Search among the training rows themselves."""

    X: Any

    def adapt(self, rows: Any) -> Any:
        """Return checked rows in the form of the training rows, dense or sparse."""
        ...

    def prepare(self, rows: Any) -> Any:
        """Return rows with what all clusterings need of them."""
        ...

    def among(self, rows: Any, n_centers: int) -> "FirstLayer":
        """Return the same kind of search among other training rows, for clusterings of `n_centers`."""
        ...

    def quality(self, codes: np.ndarray, *, rows: Any, seeds: np.random.SeedSequence) -> dict[str, float]:
        """Estimates of the errors of an approximate search, by name."""
        ...


@dataclass
class Encoder:
    """A fitted network without its output layer.

    Attributes
    ----------
    first : FirstLayer
        How the first layer finds nearest centres; holds the training rows.
    sizes : list of int
        Centres per clustering, layer by layer.
    specs : list of list of ClusteringSpec
        What every clustering of every layer is made of; above the first layer, `features` are numbers within the
        replicate.
    codes : list of (V, n) unsigned
        Codes of the training rows in every layer, replicate after replicate.
    n_replicates : int
    assignment_error : float
        Estimated fraction of assignments of the first layer that differ from the exact ones.
    neighbor_recall : float
        Estimated fraction of the true neighbours in the lists that the candidates came from.
    """

    first: FirstLayer
    sizes: list[int]
    specs: list[list[ClusteringSpec]] = field(default_factory=list, repr=False)
    codes: list[np.ndarray] = field(default_factory=list, repr=False)
    n_replicates: int = 1
    assignment_error: float = 0.0
    neighbor_recall: float = 1.0

    def encode(self, X: Any, layer: int) -> np.ndarray:
        """Codes of rows in a layer (0 is the first): (V, n)."""
        return self.encode_layers(X, layer)[-1]

    def encode_layers(self, X: Any, last: int | None = None) -> list[np.ndarray]:
        """Codes of rows in every layer, or in those up to the layer `last`: (V, n) each."""
        rows, n_layers = self.first.prepare(X), len(self.sizes) if last is None else last + 1
        codes = [assign_rows(self._searches(0)[0], rows, self.sizes[0])]
        for level in range(1, n_layers):
            parts = [
                assign_rows(search, self.replicate(codes[-1], number).T, self.sizes[level])
                for number, search in enumerate(self._searches(level))
            ]
            codes.append(np.vstack(parts))
        return codes

    def up_to(self, layer: int) -> "Encoder":
        """Return the same network without the layers above `layer`."""
        parts = {name: getattr(self, name)[: layer + 1] for name in ("sizes", "specs", "codes")}
        return replace(self, **parts)

    def replicate(self, codes: np.ndarray, number: int) -> np.ndarray:
        """Codes of one replicate among the (V, n) codes of all."""
        size = len(codes) // self.n_replicates
        return codes[number * size : (number + 1) * size]

    def _searches(self, level: int) -> Sequence[LayerSearch]:
        """Return the searches of a layer, one per replicate above the first layer; built once, and not stored."""
        with _BUILDING:
            built = vars(self).setdefault("_built", {})
            if level not in built:
                built[level] = self._build(level)
            return built[level]

    def _build(self, level: int) -> Sequence[LayerSearch]:
        if level == 0:
            return [replace(self.first, specs=self.specs[0])]  # pyright: ignore[reportArgumentType]  (a dataclass)
        V = len(self.specs[level]) // self.n_replicates
        return [
            CodeSearch(
                self.replicate(self.codes[level - 1], number),
                self.sizes[level - 1],
                self.specs[level][number * V : (number + 1) * V],
            )
            for number in range(self.n_replicates)
        ]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_built"}


def fit_encoder(
    rows: Any,
    first: FirstLayer,
    sizes: list[int],
    *,
    n_clusterings: int,
    feature_fraction: float,
    code_fraction: float = CODE_FRACTION,
    seeds: np.random.SeedSequence,
    replicate: int = 0,
    checkpoint: LayerCheckpoint | None = None,
) -> Encoder:
    """Fit one replicate from the first layer up.

    Parameters
    ----------
    rows : any
        The training rows, as `first.prepare` returns them.
    first : FirstLayer
    sizes : list of int
        Centres per clustering of every layer.
    n_clusterings : int
        Clusterings per layer.
    feature_fraction, code_fraction : float
        Fraction of the features, and of the clusterings below, that every clustering sees.
    seeds : SeedSequence
        Decides everything, together with the numbers of replicate and layer.
    replicate : int, default=0
        Number of the replicate.
    checkpoint : LayerCheckpoint, optional
        Where finished layers are stored, and read from if they are there.
    """
    n_rows, n_features = rows.shape
    encoder = Encoder(first, list(sizes))
    for level, size in enumerate(sizes):
        specs = sample_clusterings(
            n_clusterings,
            n_rows=n_rows,
            n_centers=size,
            n_features=n_clusterings if level else n_features,
            fraction=code_fraction if level else feature_fraction,
            seeds=child_stream(seeds, "sampling", replicate, level),
        )
        encoder.specs.append(specs)
        stored = checkpoint.load(level) if checkpoint is not None else None
        if stored is None:
            (search,), what = encoder._build(level), f"layer {level + 1}/{len(sizes)}"
            below = encoder.codes[level - 1].T if level else rows
            stored = {"codes": assign_rows(search, below, size, what=what)}
            if level == 0 and replicate == 0:  # estimates of the first replicate hold for all
                stored |= replace(first, specs=specs).quality(stored["codes"], rows=rows, seeds=seeds)  # pyright: ignore[reportArgumentType]
            if checkpoint is not None:
                checkpoint.save(level, **stored)
        else:
            check_codes(stored["codes"], n_clusterings, size)
        encoder.codes.append(stored.pop("codes"))
        for name, value in stored.items():
            setattr(encoder, name, float(value))
    return encoder


def fit_replicates(
    rows: Any,
    first: FirstLayer,
    sizes: list[int],
    *,
    seeds: np.random.SeedSequence,
    fewest: int = 2,
    checkpoint: LayerCheckpoint | None = None,
    **options: Any,
) -> tuple[Encoder, dict[int, float]]:
    """Fit pairs of replicates until the similarity of the last layer is reliable.

    Parameters
    ----------
    rows, first, sizes, seeds
        As in `fit_encoder`.
    fewest : int, default=2
        Replicates that are fitted in any case.
    checkpoint : LayerCheckpoint, optional
        Where the layers of all replicates are stored.
    **options : dict
        Further arguments of `fit_encoder`.

    Returns
    -------
    encoder : Encoder
    reliabilities : dict
        For 2 and, if they were fitted, 4 replicates, the estimated squared correlation of their similarity with that of
        infinitely many replicates, over pairs of rows.
    """
    pairs = _sample_pairs(rows.shape[0], np.random.default_rng(child_stream(seeds, "reliability")))
    fitted, similarities, found = [], [], {}
    # The bar counts the most replicates, so it may end early.
    for number in track(range(MAX_REPLICATES), "replicates"):
        stored = None if checkpoint is None else checkpoint.of_replicate(number)
        settings = {"n_clusterings": REPLICATE_CLUSTERINGS, "seeds": seeds, "checkpoint": stored}
        fitted.append(fit_encoder(rows, first, sizes, replicate=number, **settings, **options))
        codes = fitted[number].codes[-1]
        similarities.append((codes[:, pairs[0]] == codes[:, pairs[1]]).mean(axis=0))
        if number % 2:
            found[number + 1] = reliability(np.array(similarities))
            if found[number + 1] >= RELIABLE and number + 1 >= fewest:
                break
    return join(fitted), found


def _sample_pairs(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw pairs of different rows: (2, PAIRS). A row shares all codes with itself, so it is not paired with itself."""
    first = rng.integers(n, size=PAIRS)
    return np.stack([first, (first + 1 + rng.integers(max(1, n - 1), size=PAIRS)) % n])


def reliability(similarities: np.ndarray) -> float:
    """Estimate the squared correlation of the mean of measurements with their expectation (Spearman and Brown).

    Parameters
    ----------
    similarities : (s, p)
        Independent measurements of the same p quantities.

    Examples
    --------
    >>> import numpy as np
    >>> truth, noise = np.random.default_rng(0).standard_normal((2, 4, 5000))
    >>> round(reliability(truth[0] + noise), 1)
    0.8
    """
    count = len(similarities)
    standard = similarities - similarities.mean(axis=1, keepdims=True)
    spread = np.sqrt((standard**2).mean(axis=1, keepdims=True))
    if not spread.any():
        return 1.0
    standard /= np.where(spread > 0, spread, 1.0)
    # Mean over pairs of different measurements.
    products = np.mean(standard.sum(axis=0) ** 2 - (standard**2).sum(axis=0)) / (count * (count - 1))
    correlation = float(np.clip(products, 0.0, 1.0))
    return count * correlation / (1.0 + (count - 1) * correlation)


def join(replicates: Sequence[Encoder]) -> Encoder:
    """Return one network with the clusterings of all replicates."""
    joined = replace(replicates[0], specs=[], codes=[], n_replicates=len(replicates))
    for level in range(len(joined.sizes)):
        joined.specs.append([spec for encoder in replicates for spec in encoder.specs[level]])
        joined.codes.append(np.vstack([encoder.codes[level] for encoder in replicates]))
    return joined


def assign_rows(search: LayerSearch, rows: Any, n_centers: int, *, what: str | None = None) -> np.ndarray:
    """Codes of rows in all clusterings of a layer, by threads: (V, n). `what` names the work in the progress."""
    n, V = rows.shape[0], len(search.specs)
    out = np.empty((V, n), dtype=code_dtype(n_centers))
    if search.by_clustering and n > FEW_ROWS:
        filled, total, step = out, V, max(1, TASK_ROWS // n)
        task = lambda v: replace(cast(Any, search), specs=search.specs[v : v + step]).assign(rows)  # noqa: E731
    else:
        filled, total, step = out.T, n, BLOCK
        task = lambda start: search.assign(rows[start : start + BLOCK]).T  # noqa: E731
    tasks = range(0, total, step)
    results = threaded(task, tasks)
    if what is not None:
        results = track(results, what, total=len(tasks))
    for start, codes in zip(tasks, results, strict=True):
        filled[start : start + step] = codes
    return out


def make_first_layer(
    X: Any, *, metric: str, neighbors: Any, n_centers: int, seeds: np.random.SeedSequence
) -> FirstLayer:
    """Choose the search of the first layer.

    Parameters
    ----------
    X : (n, d) ndarray, CSR matrix, or neighbour lists if `metric` is "precomputed"
    metric : {"euclidean", "cosine", "linear", "precomputed"}
    neighbors : {"auto", "exact", "graph"}, int, (n, n) graph, or object with ``fit`` and ``transform``
    n_centers : int
    seeds : SeedSequence
        Seed of the sample from which the principal directions are computed.
    """
    if metric == "precomputed":
        return GraphSearch(X)
    reason = "sparse data" if sp.issparse(X) else "metric='linear'" if metric == "linear" else ""
    if isinstance(neighbors, str) and neighbors == "auto":
        is_wide = metric == "euclidean" and X.shape[1] > CANDIDATE_DIRECTIONS
        neighbors = "graph" if not reason and (is_wide or X.shape[0] * n_centers > EXACT_PAIRS) else "exact"
    is_exact = isinstance(neighbors, str) and neighbors == "exact"
    if reason and not is_exact:
        raise ValueError(f"neighbors must be 'exact' or 'auto' with {reason}, got {neighbors!r}.")
    if sp.issparse(X):
        return SparseSearch(X, metric)
    exact = DenseSearch(X, metric, fit_bound(X, unit=metric == "cosine", seeds=child_stream(seeds, "bound")))
    return exact if is_exact else _candidates(exact, neighbors, n_centers)


def layers_for(first: FirstLayer, rows: Any, sizes: Sequence[int]) -> tuple[Any, FirstLayer, list[int]]:
    """Return a sample of the rows, prepared for the same kind of search, its search, and the layers that fit it.

    The first layers, those with more centres than half of the distinct rows, are left out.
    """
    widest = max(2, n_distinct(rows) // 2)
    kept = [size for size in sizes if size <= widest] or [widest]
    search = first.among(rows, kept[0])
    return search.prepare(rows), search, kept


def _candidates(exact: DenseSearch, neighbors: Any, n_centers: int) -> CandidateSearch:
    n, count, given, transformer = len(exact.X), CANDIDATES, None, None
    if hasattr(neighbors, "fit") and hasattr(neighbors, "transform"):
        transformer = clone(neighbors).fit(exact.X)
        neighbors = transformer.transform(exact.X)
    if sp.issparse(neighbors) or isinstance(neighbors, np.ndarray):
        given = sorted_lists(check_graph(neighbors, n, n), drop_self=True)
    elif not isinstance(neighbors, str):
        count = check_count("neighbors", neighbors, hint="it counts the candidates per row")
    elif neighbors != "graph":
        raise ValueError(
            "neighbors must be 'auto', 'exact', 'graph', a number of candidates, a graph or a neighbours "
            f"transformer, got {neighbors!r}."
        )
    return CandidateSearch(CandidateLists(exact, list_length(n, n_centers, count), given, transformer), count)
