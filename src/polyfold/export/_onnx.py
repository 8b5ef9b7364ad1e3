"""From a fitted model to an ONNX model: no polyfold, no Python needed where it runs."""

from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, is_clusterer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from polyfold import baselines
from polyfold.ensembles import Compressed, ModularClassifier
from polyfold.estimators import KernelEmbedding, ModularAutoencoder, ModularKernelPCA
from polyfold.export._graph import Graph
from polyfold.export._predictions import add_student, add_votes
from polyfold.export._spectra import add_coordinates

if TYPE_CHECKING:
    import onnx

SUPPORTED = (
    "ModularKernelPCA, KernelEmbedding and the kernel baselines with the kernels rbf, laplacian, linear, poly, cosine "
    "or precomputed; ModularAutoencoder and BaggingAutoencoder; ModularClassifier on those with linear or "
    "NearestCentroid classifiers; Compressed with a network or a linear model as its student; pipelines of "
    "StandardScaler and one of these"
)
SPECTRAL = (
    ModularKernelPCA,
    baselines.PartitionKernelPCA,
    baselines.BootstrapKernelPCA,
    baselines.RandomKernelPCA,
    baselines.MonolithicKernelPCA,
)
LINEAR = (ModularAutoencoder, baselines.BaggingAutoencoder)


def to_onnx(model: BaseEstimator) -> "onnx.ModelProto":
    """Convert a fitted model to ONNX.

    The input ``X`` takes rows of float32. The output is ``Z``, what `transform` returns, or ``label`` (with
    ``probabilities`` of a classifier), what `predict` returns.

    Parameters
    ----------
    model : estimator
        Modular and linear models, kernel embeddings of kernels of two points, classifiers on modules by linear or
        nearest-centroid classifiers, and compressed students.

    Returns
    -------
    onnx_model : onnx.ModelProto
        Write it with ``onnx.save(onnx_model, path)``, or run ``onnx_model.SerializeToString()``.

    Notes
    -----
    The graph works in single precision, and in double precision if single would cost more than 1e-5 of the largest
    coordinate of the model's own landmarks; outputs are float32 always. Needs the extra ``onnx``.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data.astype("float32")
    >>> model = pf.ModularKernelPCA(2, 2, random_state=0).fit(X)
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(pf.to_onnx(model).SerializeToString())
    >>> session.run(["Z"], {"X": X})[0].shape
    (150, 4)
    """
    check_is_fitted(model)
    graph = Graph(model.n_features_in_)
    *scalers, last = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    for scaler in (known := [step for step in scalers if isinstance(step, StandardScaler)]):
        graph.scale_input(scaler.mean_ if scaler.with_mean else None, scaler.scale_)
    if len(known) < len(scalers) or not _add(graph, last):
        has_student = hasattr(model, "predict" if is_clusterer(model) else "transform")
        advice = ": compress it first by polyfold.Compressed(model).fit(X)" if has_student else ""
        raise TypeError(f"model must be one of {SUPPORTED}; got {_in_a_line(model)}{advice}.")
    return graph.model({"polyfold": version("polyfold"), "class": type(last).__name__})


def _in_a_line(model: BaseEstimator) -> str:
    return " ".join(repr(model).split())


def _add(graph: Graph, model: BaseEstimator) -> bool:
    """Append a model and its outputs; False if it has no formula."""
    if isinstance(model, Compressed):
        return add_student(graph, model)
    if isinstance(model, ModularClassifier):
        modules = _representation(graph, model.representation_)
        return modules is not None and add_votes(graph, model, modules)
    result = _representation(graph, model)
    if result is not None:
        graph.output("Z", graph.cast(result, np.float32), np.float32, model._n_features_out)
    return result is not None


def _representation(graph: Graph, model: BaseEstimator) -> str | None:
    """Append the coordinates of a representation; None if it has no formula."""
    if isinstance(model, FrozenEstimator):
        return _representation(graph, model.estimator)
    if isinstance(model, SPECTRAL):
        M, H, k = model.components_.shape
        offsets = None if model.offsets_ is None else model.offsets_.ravel()
        return add_coordinates(graph, model.spectrum_, model.components_.reshape(M * H, k).T, offsets)
    if isinstance(model, KernelEmbedding):
        width = model._n_features_out
        return add_coordinates(graph, model.spectrum_, np.eye(min(width, model.spectrum_.rank), width), None)
    if isinstance(model, LINEAR):
        M, H, D = model.encoders_.shape
        origin = model.means_.mean(axis=0)
        offset = -np.einsum("mhd,md->mh", model.encoders_, model.means_ - origin).ravel()
        return graph.linear(graph.minus(graph.input(), origin), model.encoders_.reshape(M * H, D).T, offset)
    return None
