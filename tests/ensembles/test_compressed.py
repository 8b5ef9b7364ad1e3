import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from polyfold import BootstrapClustering, Compressed, ModularKernelPCA, MultilayerBootstrapNetwork
from polyfold.ensembles import DropoutNetwork


@parametrize_with_checks([Compressed(PCA(1), student=Ridge())])
def test_scikit_learn_contract(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        pytest.skip("needs SCIPY_ARRAY_API; arrays other than numpy's are not supported")
    check(estimator)


@pytest.fixture
def blobs():
    return make_blobs(300, n_features=6, centers=4, random_state=0)


def small_network():
    return MultilayerBootstrapNetwork(3, n_classes=4, n_clusterings=30, random_state=0)


@pytest.mark.parametrize(
    "teacher",
    [PCA(3), small_network(), ModularKernelPCA(2, 2, rank=50, random_state=0)],
    ids=lambda teacher: type(teacher).__name__,
)
def test_a_student_learns_any_transformer(blobs, teacher):
    X, _ = blobs
    student = MLPRegressor(hidden_layer_sizes=(100,), max_iter=400, tol=1e-3, learning_rate_init=0.01, random_state=0)
    teacher.fit(X)
    compressed = Compressed(teacher, student=student, holdout=0.2, random_state=0).fit(X)
    assert compressed.fidelity_ > 0.8
    assert compressed.transform(X).shape == teacher.transform(X).shape
    assert not hasattr(compressed, "predict")


@pytest.mark.parametrize("student", [LogisticRegression(), Ridge()])
@pytest.mark.parametrize("teacher", [KMeans(4, n_init=5, random_state=0), AgglomerativeClustering(4)])
def test_a_student_learns_clusters_by_labels_or_indicators(blobs, teacher, student):
    X, _ = blobs
    compressed = Compressed(teacher, student=student, random_state=0).fit(X)
    assert compressed.fidelity_ > 0.9
    assert set(compressed.predict(X)) <= set(compressed.classes_)
    with pytest.raises(AttributeError, match="transform is for compressed transformers"):
        compressed.transform(X)


def test_fitted_teachers_are_asked_and_not_fitted_again(blobs):
    X, _ = blobs
    teacher = PCA(2).fit(X[:100])
    compressed = Compressed(teacher, student=Ridge(alpha=1e-8), random_state=0).fit(X)
    np.testing.assert_allclose(compressed.transform(X), teacher.transform(X), atol=1e-3)
    with pytest.raises(NotFittedError):
        Compressed(PCA(2), student=Ridge()).transform(X)


def test_known_answers_are_not_asked_for(blobs):
    X, _ = blobs
    clusters = AgglomerativeClustering(4).fit(X)
    with pytest.raises(TypeError, match="must have predict once it is fitted"):
        Compressed(clusters, student=LogisticRegression()).fit(X)
    compressed = Compressed(clusters, student=LogisticRegression(), random_state=0).fit(X, target=clusters.labels_)
    assert compressed.fidelity_ > 0.9
    with pytest.raises(ValueError, match="one row per sample=300, got 5"):
        compressed.fit(X, target=clusters.labels_[:5])


def test_bootstrap_clusters_are_compressed_and_pickled_without_their_teacher(blobs):
    X, _ = blobs
    teacher = BootstrapClustering(4, network=small_network(), random_state=0)
    compressed = Compressed(teacher, student=LogisticRegression(), random_state=0).fit(X)
    assert compressed.fidelity_ == 1.0
    assert len(pickle.dumps(compressed)) < 20_000


def test_fidelity_is_measured_on_rows_the_student_has_not_seen():
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((200, 5)), rng.standard_normal((200, 2))
    memory = KNeighborsRegressor(1)
    assert Compressed(PCA(2).fit(X), student=memory, random_state=0).fit(X, target=noise).fidelity_ < 0.2
    assert Compressed(PCA(2).fit(X), student=memory, holdout=0, random_state=0).fit(X, target=noise).fidelity_ > 0.8


def test_sparse_rows_and_bytes():
    X = load_digits().data
    for rows in (sp.csr_matrix(X), X.astype(np.uint8)):
        compressed = Compressed(TruncatedSVD(3, random_state=0), student=LinearRegression(), random_state=0).fit(rows)
        assert compressed.fidelity_ > 0.99


def test_default_student_is_a_small_network(blobs):
    X, _ = blobs
    compressed = Compressed(PCA(2), random_state=0).fit(X)
    assert compressed.student_.hidden_layer_sizes == (256, 256)
    assert compressed.fidelity_ > 0.95
    with pytest.raises(ValueError, match="student must be 'mlp', 'torch'"):
        Compressed(PCA(2), student="forest").fit(X)


@pytest.mark.parametrize("kind", ["coordinates", "clusters"])
def test_the_network_of_the_paper(blobs, kind):
    pytest.importorskip("torch")
    X, _ = blobs
    teacher = PCA(2) if kind == "coordinates" else KMeans(4, n_init=3, random_state=0)
    output = "linear" if kind == "coordinates" else "sigmoid"
    student = DropoutNetwork((64, 64), output=output, max_iter=40, random_state=0)
    one, two = (Compressed(teacher, student=student, random_state=0).fit(X) for _ in range(2))
    assert one.fidelity_ > 0.9
    assert one.fidelity_ == two.fidelity_
    assert one.student_.loss_curve_[-1] < one.student_.loss_curve_[0]


def test_torch_by_name_has_the_size_of_the_paper():
    pytest.importorskip("torch")
    compressed = Compressed(PCA(2), student="torch", random_state=0)
    student = compressed._student(np.random.RandomState(0), 100)
    assert student.hidden == (2048, 2048)
    assert student.dropout == 0.2
    assert student.output == "linear"
