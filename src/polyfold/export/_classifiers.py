"""Votes of modules as ONNX operators, where every module's classifier is linear or takes the nearest centroid."""

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.neighbors import NearestCentroid

from polyfold.ensembles import ModularClassifier
from polyfold.export._graph import Graph
from polyfold.export._students import add_label

Scores = tuple[NDArray, NDArray]  # weights (H, C) and offsets (C,)


def add_votes(graph: Graph, model: ModularClassifier, Z: str) -> bool:
    """Append the outputs ``label`` and ``probabilities`` of a modular classifier; False without a formula."""
    scores, chances = (_all(model.estimators_, kind) for kind in (_scores, _chances))
    asked = any(hasattr(head, "predict_proba") for head in model.estimators_)
    if scores is None or (asked and chances is None):
        return False
    n_modules, n_classes = len(model.estimators_), len(model.classes_)
    mean = None if chances is None else _mean_chance(graph, Z, chances, n_modules, n_classes)
    if model.voting == "soft" and mean is not None:
        decision = probabilities = mean
    else:
        winners = graph.add("ArgMax", _by_module(graph, Z, scores, n_modules, n_classes), axis=2, keepdims=1)
        hits = graph.cast(graph.add("Equal", winners, np.arange(n_classes)), np.float64)
        graph.dtype = np.float64  # counts, and less than one for the chances: they decide ties and nothing else
        votes = graph.add("ReduceSum", hits, np.array([1]), keepdims=0)
        probabilities = graph.add("Div", votes, np.float64(n_modules))
        decision = votes if mean is None else graph.add("Add", votes, graph.add("Mul", mean, np.float64(0.5)))
    add_label(graph, graph.add("ArgMax", decision, axis=1, keepdims=0), model.classes_)
    graph.output("probabilities", graph.cast(probabilities, np.float32), np.float32, n_classes)
    return True


def _by_module(graph: Graph, Z: str, scores: list[Scores], n_modules: int, n_classes: int) -> str:
    """Scores of every module, shape (n, M, C), from one product with a block-diagonal matrix."""
    weights = scipy.linalg.block_diag(*(weights for weights, _ in scores))
    flat = graph.linear(Z, weights, np.concatenate([offsets for _, offsets in scores]))
    return graph.add("Reshape", flat, np.array([-1, n_modules, n_classes]))


def _mean_chance(graph: Graph, Z: str, chances: list[Scores], n_modules: int, n_classes: int) -> str:
    each = graph.add("Softmax", _by_module(graph, Z, chances, n_modules, n_classes), axis=2)
    return graph.cast(graph.add("ReduceMean", each, axes=[1], keepdims=0), np.float64)


def _all(heads: list[BaseEstimator], kind: Callable[[BaseEstimator], Scores | None]) -> list[Scores] | None:
    scores_of_heads = [kind(head) for head in heads]
    known = [scores for scores in scores_of_heads if scores is not None]
    return known if len(known) == len(scores_of_heads) else None


def _scores(head: BaseEstimator) -> Scores | None:
    """Linear functions whose largest is the prediction of a head."""
    if isinstance(head, LinearClassifierMixin):
        weights, offsets = np.atleast_2d(head.coef_).T, np.atleast_1d(head.intercept_)
        # Of two classes the first has the score zero.
        return (
            (np.pad(weights, ((0, 0), (1, 0))), np.pad(offsets, (1, 0)))
            if weights.shape[1] == 1
            else (weights, offsets)
        )
    if isinstance(head, NearestCentroid) and head.metric == "euclidean":
        even = np.isclose(head.class_prior_, 1 / len(head.classes_)).all()
        return _nearest(head.centroids_, np.ones(head.centroids_.shape[1]), 0.0) if even else _chances(head)
    return None


def _chances(head: BaseEstimator) -> Scores | None:
    """Linear functions whose softmax are the probabilities of a head."""
    if isinstance(head, LogisticRegression | LinearDiscriminantAnalysis):
        return _scores(head)
    if isinstance(head, NearestCentroid) and head.metric == "euclidean":
        scale = np.where(head.within_class_std_dev_ != 0, head.within_class_std_dev_, 1.0)
        return _nearest(head.centroids_, scale, 2 * np.log(head.class_prior_))
    return None


def _nearest(centroids: NDArray, scale: NDArray, offsets: NDArray | float) -> Scores:
    """Return negative squared distances without the term that all of them share."""
    scaled = centroids / scale
    return 2 * (scaled / scale).T, offsets - np.square(scaled).sum(axis=1)
