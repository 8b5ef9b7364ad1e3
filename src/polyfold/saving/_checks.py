"""Checks of loaded objects: indices that compiled code follows must be in range, and arrays must fit each other."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors._base import NeighborsBase
from sklearn.preprocessing import OneHotEncoder

from polyfold._validation import check_indices
from polyfold.bootstrap import (
    CandidateSearch,
    ClusteringSpec,
    DenseSearch,
    Encoder,
    GraphSearch,
    Output,
    SparseSearch,
    SpectralReadout,
    check_codes,
)
from polyfold.clustering import ClusterTree
from polyfold.saving._writing import TREES

# Columns of an output beyond the rank of a model are zeros, which no array of the file bounds.
MOST_COLUMNS = 10**6
MOST_THREADS = 1024
# Attributes of scikit-learn with rows of as many columns as new rows: compiled code takes this for granted.
ROWS = frozenset({"_fit_X", "cluster_centers_"})


def check_part(part: Any) -> None:
    """Raise if an object from a file would make compiled code read outside its arrays, or fill the memory."""
    state = getattr(part, "__dict__", {})
    columns = state.get("_n_features_out", 0)
    _require(isinstance(columns, int | np.integer) and columns <= MOST_COLUMNS, "columns")
    for name in ROWS & state.keys():
        _check_rows(state[name], state)
    if isinstance(part, NeighborsBase) and "_fit_method" in state:
        _check_neighbors(state)
    # OpenMP ends the process if it cannot start as many threads.
    threads = state.get("_n_threads", 1)
    _require(_is_count(threads) and threads <= MOST_THREADS, "threads")
    # scikit-learn makes a sparse matrix with these columns, without a check.
    words = state.get("vocabulary_", {})
    _require(sorted(words.values()) == list(range(len(words))), "columns")
    if (check := CHECKS.get(type(part))) is not None:
        check(part)


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(f"{what} are not those of a fitted model")


def _check_rows(rows: Any, state: dict[str, Any]) -> None:
    """Check the rows that scikit-learn compares new rows with, and the labels of these rows."""
    _require(isinstance(rows, np.ndarray) or sp.issparse(rows), "rows")
    _require(rows.ndim == 2 and rows.shape[0] and rows.shape[1] == state.get("n_features_in_"), "rows")
    if "n_samples_fit_" in state:
        _require(state["n_samples_fit_"] == rows.shape[0], "rows")
    if "_counts" in state:  # of the rows of each cluster, which `partial_fit` writes to
        _require(np.shape(state["_counts"]) == rows.shape[:1], "clusters")
    if "classes_" in state and "_y" in state:
        several = isinstance(state["classes_"], list)
        _require(several == state.get("outputs_2d_", False), "labels")
        classes = state["classes_"] if several else [state["classes_"]]
        labels = np.reshape(state["_y"], (rows.shape[0], len(classes)))
        _require(labels.dtype.kind == "i", "labels")
        for column, names in zip(labels.T, classes, strict=True):
            check_indices(column, len(names))


def _check_neighbors(state: dict[str, Any]) -> None:
    """Check that the search of scikit-learn finds no other rows than those of the fit."""
    rows, tree = state["_fit_X"], state["_tree"]
    if tree is not None:
        _require(type(tree) in TREES.values() and np.shape(tree.data) == rows.shape, "rows")
    if "precomputed" in (state["metric"], state["effective_metric_"]):
        _require(rows.shape[0] == rows.shape[1], "distances")
    for params in (state.get("metric_params"), state.get("effective_metric_params_")):
        for name, value in (params or {}).items():
            # The metric "mahalanobis" takes the size of VI for granted, and others those of arrays that they get.
            _require(name in ("p", "w", "V", "VI"), "metrics")
            _require(name != "VI" or np.shape(value) == (rows.shape[1],) * 2, "metrics")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _check_numbers(lists: list[Any], count: int) -> None:
    """Check lists of row or column numbers; an array that is in several lists is checked once."""
    for numbers in lists:
        _require(type(numbers) is np.ndarray and numbers.ndim == 1 and numbers.dtype == np.int32, "indices")
    check_indices(np.concatenate(list({id(numbers): numbers for numbers in lists}.values())), count)


def _check_specs(specs: Any, size: int, n_rows: int, n_features: int) -> None:
    _require(isinstance(specs, list) and all(type(spec) is ClusteringSpec for spec in specs), "clusterings")
    _check_numbers([spec.rows for spec in specs], n_rows)
    _check_numbers([spec.features for spec in specs], n_features)
    for spec in specs:
        _require(len(spec.rows) == size and len(spec.features), "clusterings")


def _check_dense(search: DenseSearch) -> None:
    X, bound = search.X, search.bound
    _require(isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in (np.uint8, np.float32, np.float64), "rows")
    _require(np.isfinite(X).all() and len(X), "rows")
    _require(bound.mean.shape == X.shape[1:] and np.isfinite(bound.mean).all(), "principal directions")
    if bound.basis is not None:
        _require(bound.basis.shape[:1] == X.shape[1:] and np.isfinite(bound.basis).all(), "principal directions")


def _check_sparse(search: SparseSearch) -> None:
    _require(sp.issparse(search.X) and search.X.format == "csr" and search.X.data.dtype.kind in "fu", "rows")
    _require(np.isfinite(search.X.data).all() and search.X.shape[0], "rows")


def _check_lists(search: CandidateSearch) -> None:
    exact, given = search.find.exact, search.find.given
    _require(type(exact) is DenseSearch and search.X is exact.X and _is_count(search.n_candidates), "candidates")
    _require(_is_count(search.find.n_neighbors), "candidates")
    if given is not None:
        _require(given.ndim == 2 and len(given) == len(exact.X) and given.dtype == np.int32, "neighbours")
        check_indices(given, len(exact.X), minimum=-1)


def _check_graph(search: GraphSearch) -> None:
    X = search.X
    _require(isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.int32 and len(X), "neighbours")
    check_indices(X, len(X), minimum=-1)


def _check_encoder(encoder: Encoder) -> None:
    sizes, replicates = encoder.sizes, encoder.n_replicates
    _require(type(encoder.first) in (DenseSearch, SparseSearch, CandidateSearch, GraphSearch), "searches")
    _require(isinstance(sizes, list) and all(map(_is_count, sizes)) and _is_count(replicates) and sizes, "layers")
    _require(len(encoder.specs) == len(encoder.codes) == len(sizes), "layers")
    n_rows, n_features = encoder.first.X.shape
    for size, specs, codes in zip(sizes, encoder.specs, encoder.codes, strict=True):
        _require(len(specs) >= replicates and len(specs) % replicates == 0, "clusterings")
        _check_specs(specs, size, n_rows, n_features)
        _require(isinstance(codes, np.ndarray) and codes.dtype.kind == "u" and codes.ndim == 2, "codes")
        _require(codes.shape[1] == n_rows, "codes")
        check_codes(codes, len(specs), size)
        # The next layer compares the clusterings of this one.
        n_features = len(specs) // replicates


def _check_output(output: Any) -> None:
    _require(_is_count(output.n_centers) and output.components.ndim == 2, "components")
    _require(len(output.components) % output.n_centers == 0, "components")


def _check_tree(tree: ClusterTree) -> None:
    means, merges, sizes = tree.means, tree.merges, tree.sizes
    _require(isinstance(means, np.ndarray) and means.ndim == 2 and len(means) and np.isfinite(means).all(), "means")
    _require(sizes.shape == (len(means),) and sizes.dtype.kind == "i" and sizes.min() >= 0, "clusters")
    _require(merges.shape == (len(means) - 1, 2) and merges.dtype.kind == "i", "clusters")
    # Every cluster but the last merges once, into one that comes later.
    later = len(means) + np.arange(len(merges))
    _require((merges < later[:, None]).all(), "clusters")
    _require((np.sort(merges, axis=None) == np.arange(2 * len(means) - 2)).all(), "clusters")


def _check_one_hot(encoder: OneHotEncoder) -> None:
    """Check the columns of the categories, of which rare ones share one and one may have none."""
    state = vars(encoder)
    if "categories_" not in state:
        return
    none = [None] * len(state["categories_"])
    mappings = state["_default_to_infrequent_mappings"] if state["_infrequent_enabled"] else none
    dropped = none if state["_drop_idx_after_grouping"] is None else state["_drop_idx_after_grouping"]
    rare = state["_infrequent_indices"] if state["_infrequent_enabled"] else none
    for values, mapping, indices, drop, count in zip(
        state["categories_"], mappings, rare, dropped, state["_n_features_outs"], strict=True
    ):
        numbers = np.arange(len(values))
        codes = numbers if mapping is None else mapping
        _require((mapping is None) == (indices is None), "categories")
        if indices is not None:
            check_indices(indices, len(values))
        _require(values.dtype == object or (np.searchsorted(values, values) == numbers).all(), "categories")
        _require(codes.shape == numbers.shape and codes.dtype.kind == "i" and codes.size, "categories")
        _require(codes.min() >= 0 and codes.max() + 1 == count + (drop is not None), "categories")
        _require(drop is None or 0 <= drop <= codes.max(), "categories")


CHECKS: dict[type, Any] = {
    OneHotEncoder: _check_one_hot,
    DenseSearch: _check_dense,
    SparseSearch: _check_sparse,
    CandidateSearch: _check_lists,
    GraphSearch: _check_graph,
    Encoder: _check_encoder,
    Output: _check_output,
    SpectralReadout: _check_output,
    ClusterTree: _check_tree,
}
