"""Students as ONNX operators: layers of a network, or one linear map."""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_clusterer
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel

from polyfold.ensembles import Compressed
from polyfold.export._graph import Graph

ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid", "identity": None}
Layers = list[tuple[NDArray, NDArray]]


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
