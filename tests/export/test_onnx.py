"""Exported models say the same as their originals, to 1e-4 of the largest value, in float32."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import polyfold as pf
from polyfold import baselines

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

KERNELS = ["rbf", "laplacian", "linear", "poly", "cosine"]


def run(model, X):
    """Outputs of the exported model, by name."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # its threads would wait for one another by spinning
    content = pf.to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.asarray(X, dtype=np.float32)}), strict=True))


def assert_same_coordinates(model, X):
    X = np.asarray(X, dtype=np.float32)
    found, expected = run(model, X)["Z"], model.transform(X.astype(np.float64))
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max()


@pytest.fixture
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300], X[300:400]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("feature_map", ["exact", "nystroem"])
def test_kernels_and_feature_maps(digits, kernel, feature_map):
    X, _, new = digits
    model = pf.ModularKernelPCA(3, 4, kernel=kernel, feature_map=feature_map, rank=60, random_state=0).fit(X)
    assert_same_coordinates(model, new)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_fourier_features(digits, kernel):
    X, _, new = digits
    model = pf.ModularKernelPCA(3, 4, kernel=kernel, feature_map="fourier", rank=64, random_state=0).fit(X)
    assert_same_coordinates(model, new)


@pytest.mark.parametrize(
    "model",
    [
        pf.KernelEmbedding(5, random_state=0),
        pf.KernelEmbedding(3, kernel="cosine"),
        pf.ModularAutoencoder(3, 4, random_state=0),
        baselines.BaggingAutoencoder(3, 4, random_state=0),
        baselines.PartitionKernelPCA(3, 4, random_state=0),
        baselines.RandomKernelPCA(3, 4, random_state=0),
        baselines.BootstrapKernelPCA(3, 4, random_state=0),
        baselines.MonolithicKernelPCA(12, random_state=0),
        make_pipeline(StandardScaler(with_mean=False), StandardScaler(), pf.ModularKernelPCA(3, 4, random_state=0)),
    ],
    ids=repr,
)
def test_representations(digits, model):
    X, _, new = digits
    assert_same_coordinates(model.fit(X), new)


@pytest.mark.parametrize(
    "model", [pf.ModularKernelPCA(3, 4, random_state=0), pf.ModularAutoencoder(3, 4, random_state=0)]
)
@pytest.mark.parametrize(("factor", "offset"), [(1.0, 1000.0), (1e-6, 0.0), (1e6, 3e6)])
def test_neither_origin_nor_unit_cost_digits(digits, model, factor, offset):
    X, _, new = ((rows * factor + offset).astype(np.float32).astype(np.float64) for rows in digits)
    assert_same_coordinates(model.fit(X), new)


@pytest.mark.parametrize("offset", [1e4, 1e6])
@pytest.mark.parametrize(
    "model",
    [
        *(pf.ModularKernelPCA(3, 2, kernel=kernel, random_state=0) for kernel in ("rbf", "laplacian", "linear")),
        pf.ModularKernelPCA(3, 2, kernel="linear", feature_map="nystroem", rank=30, random_state=0),
        pf.ModularKernelPCA(3, 2, feature_map="fourier", rank=30, random_state=0),
        pf.KernelEmbedding(2, kernel="linear"),
        pf.ModularAutoencoder(3, 2, random_state=0),
        make_pipeline(StandardScaler(), pf.KernelEmbedding(2, random_state=0)),
        pf.Compressed(pf.KernelEmbedding(2, random_state=0), LinearRegression(), random_state=0),
    ],
    ids=repr,
)
def test_far_from_the_origin_no_digit_is_lost(model, offset, rng):
    X = rng.standard_normal((80, 5)) * [1, 2, 0.5, 1, 3] + offset * rng.uniform(0.5, 1.5, 5)
    # Fitted to rows of double precision: no landmark is a number of single precision.
    assert_same_coordinates(model.fit(X), X[:20])


def test_directions_that_hang_on_the_last_digits_are_computed_in_double_precision(rng):
    X = rng.standard_normal((40, 3)).astype(np.float32).astype(np.float64)
    assert_same_coordinates(pf.ModularKernelPCA(3, 13, kernel=pf.kernels.Gaussian(0.01)).fit(X), X[:7] + 0.125)


def test_given_kernels_and_sparse_landmarks(digits):
    X, _, new = digits
    precomputed = pf.KernelEmbedding(3, kernel="precomputed").fit(X @ X.T)
    assert_same_coordinates(precomputed, new @ X.T)
    assert_same_coordinates(pf.KernelEmbedding(3, kernel="cosine").fit(sp.csr_array(X)), new)


def test_rows_of_zeros_and_single_rows(digits):
    X, _, new = digits
    model = pf.KernelEmbedding(3, kernel="cosine").fit(X)
    assert_same_coordinates(model, np.vstack([np.zeros(64), new[0]]))
    assert_same_coordinates(model, new[:1])


HEADS = {
    "logistic": LogisticRegression(),
    "discriminant": LinearDiscriminantAnalysis(),
    "ridge": RidgeClassifier(),
    "centroid": NearestCentroid(),
    "centroid with priors": NearestCentroid(priors="empirical"),
}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_votes(digits, head, n_classes, voting):
    if head == "ridge" and voting == "soft":
        pytest.skip("ridge classifiers have no probabilities")
    X, y, new = digits
    model = pf.ModularClassifier(pf.ModularKernelPCA(4, 5, random_state=0), HEADS[head], voting=voting)
    model.fit(X, y if n_classes == 10 else np.where(y > 4, "high", "low"))
    found = run(model, new)
    assert list(found["label"]) == list(model.predict(new))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), atol=1e-4)


def test_votes_on_a_frozen_representation(digits):
    X, y, new = digits
    modules = FrozenEstimator(pf.ModularAutoencoder(4, 5, random_state=0).fit(X))
    model = pf.ModularClassifier(modules, NearestCentroid()).fit(X, y)
    assert list(run(model, new)["label"]) == list(model.predict(new))


STUDENTS = {
    "linear": LinearRegression(),
    "relu": MLPRegressor(hidden_layer_sizes=(16, 8), max_iter=20, random_state=0),
    "tanh": MLPRegressor(hidden_layer_sizes=(16,), activation="tanh", max_iter=20, random_state=0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("student", STUDENTS)
@pytest.mark.parametrize("n_components", [1, 3])
def test_students_of_transformers(digits, student, n_components):
    X, _, new = digits
    teacher = pf.KernelEmbedding(n_components, random_state=0)
    assert_same_coordinates(pf.Compressed(teacher, STUDENTS[student], random_state=0).fit(X), new)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("n_clusters", "student"),
    [(2, MLPClassifier(hidden_layer_sizes=(16,), max_iter=20, random_state=0)), (5, LogisticRegression())],
)
def test_students_of_clusterers(digits, n_clusters, student):
    X, _, new = digits
    network = pf.MultilayerBootstrapNetwork(n_clusters, n_classes=5, n_clusterings=20, random_state=0)
    teacher = pf.BootstrapClustering(n_clusters, network=network, random_state=0)
    model = pf.Compressed(teacher, student, random_state=0).fit(X.astype(np.uint8))
    assert list(run(model, new)["label"]) == list(model.predict(new))


@pytest.mark.torch
def test_students_of_torch(digits):
    from polyfold.ensembles import DropoutNetwork

    X, _, new = digits
    student = DropoutNetwork((16, 16), max_iter=2, random_state=0)
    assert_same_coordinates(pf.Compressed(pf.KernelEmbedding(2, random_state=0), student, random_state=0).fit(X), new)


@pytest.mark.parametrize(
    "model",
    [
        pf.ModularKernelPCA(2, 2, kernel="isomap"),
        pf.ModularKernelPCA(2, 2, kernel=lambda X, Y: X @ Y.T),
        pf.NonRedundantEmbedding(2, kernel="rbf"),
        pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=10),
        pf.Compressed(pf.KernelEmbedding(2), KNeighborsRegressor()),
        pf.KernelClustering(3),
        make_pipeline(MinMaxScaler(), pf.ModularKernelPCA(2, 2)),
        StandardScaler(),
    ],
)
def test_what_has_no_formula_is_refused_with_what_has(blobs, model):
    model.fit(blobs, np.arange(90) % 3)
    with pytest.raises(TypeError, match=r"must be one of ModularKernelPCA.*Compressed\(model\)"):
        pf.to_onnx(model)


@pytest.mark.parametrize(
    "model",
    [
        pf.ModularClassifier(pf.ModularKernelPCA(2, 2), KNeighborsClassifier()),
        pf.ModularClassifier(pf.ModularKernelPCA(2, 2), SGDClassifier(loss="log_loss")),
        pf.ModularNeighbors(pf.ModularKernelPCA(2, 2)),
    ],
)
def test_compressing_is_advised_only_where_it_works(blobs, model):
    model.fit(blobs, np.arange(90) % 3)
    with pytest.raises(TypeError, match=r"must be one of ModularKernelPCA") as raised:
        pf.to_onnx(model)
    assert "polyfold.Compressed(model)" not in str(raised.value)


def test_the_model_says_where_it_comes_from(blobs):
    model = pf.to_onnx(pf.KernelEmbedding().fit(blobs))
    assert {prop.key: prop.value for prop in model.metadata_props}["class"] == "KernelEmbedding"
    assert model.opset_import[0].version == 17


def test_a_missing_extra_is_named(blobs, monkeypatch):
    model = pf.KernelEmbedding().fit(blobs)
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r'; run: pip install "onnx>=[\d.]+" "onnxruntime>=[\d.]+"$'):
        pf.to_onnx(model)
