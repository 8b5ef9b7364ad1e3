"""Predictions as ONNX operators: votes of modules with linear or nearest-centroid classifiers, and students."""

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_clusterer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel
from sklearn.neighbors import NearestCentroid

from polyfold.ensembles import Compressed, ModularClassifier
from polyfold.export._graph import Graph

ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid", "identity": None}
Layers = list[tuple[NDArray, NDArray]]
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
        # The first of two classes has the score zero.
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


def add_student(graph: Graph, model: Compressed) -> bool:
    """Append a compressed model and its output; False if its student has no formula."""
    student = model.student_
    layers, hidden = _layers_of(student)
    if not layers:
        return False
    graph.scale_input(model._shift, model._scale)
    result, width = _chain(graph, graph.input(), layers, hidden), layers[-1][0].shape[1]
    if is_clusterer(model.estimator):
        classes = student.classes_ if is_classifier(student) else model.classes_
        add_label(graph, _best(graph, result, width), classes)
        return True
    mean = np.atleast_1d(np.asarray(model._target_mean))
    scaled = graph.add("Mul", result, np.float64(model._target_scale))
    graph.output("Z", graph.add("Add", scaled, mean), np.float32, mean.size)
    return True


def add_label(graph: Graph, index: str, classes: NDArray) -> None:
    """Append the output ``label``: the class of every index, a whole number or a text."""
    whole = classes.dtype.kind in "iub" or (classes.dtype.kind == "f" and np.array_equal(classes, np.round(classes)))
    names = classes.astype(np.int64 if whole else str)
    graph.output("label", graph.add("Gather", names, index), names.dtype, None)


def _best(graph: Graph, scores: str, width: int) -> str:
    """Index of the highest score; a single column is the score of the second of two classes."""
    if width > 1:
        return graph.add("ArgMax", scores, axis=1, keepdims=0)
    positive = graph.add("Squeeze", graph.add("Greater", scores, np.float64(0)), np.array([1]))
    return graph.cast(positive, np.int64)


def _layers_of(student: BaseEstimator) -> tuple[Layers, str | None]:
    """Weights and offsets of a student's layers and what is between them; none if it is of another kind."""
    if hasattr(student, "coefs_") and student.out_activation_ in ("identity", "softmax", "logistic"):
        layers = list(zip(student.coefs_, student.intercepts_, strict=True))
        return layers, ACTIVATIONS[student.activation]
    if hasattr(student, "weights_"):
        return student.weights_, "Relu"
    if isinstance(student, LinearModel | LinearClassifierMixin):
        return [(np.atleast_2d(student.coef_).T, np.atleast_1d(student.intercept_))], None
    return [], None


def _chain(graph: Graph, x: str, layers: Layers, hidden: str | None) -> str:
    for number, (weights, offset) in enumerate(layers):
        x = graph.linear(x, weights, offset)
        if hidden is not None and number < len(layers) - 1:
            x = graph.add(hidden, x)
    return x
