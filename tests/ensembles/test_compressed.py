import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline

import polyfold
from polyfold import BootstrapClustering, Compressed, ModularKernelPCA, MultilayerBootstrapNetwork
from polyfold.ensembles import DropoutNetwork
from polyfold.exceptions import DegenerateDataWarning


@pytest.fixture
def blobs():
    return make_blobs(300, n_features=6, centers=4, random_state=0)


def small_network():
    return MultilayerBootstrapNetwork(3, n_classes=4, n_clusterings=30, feature_fraction=0.5, random_state=0)


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
    # scikit-learn gives the reason as the cause.
    with pytest.raises(AttributeError, match="no attribute 'transform'") as caught:
        compressed.transform(X)
    assert "transform is for compressed transformers" in str(caught.value.__cause__)


def test_only_what_a_student_can_do_is_there():
    assert not hasattr(Compressed(KMeans()), "transform")
    assert hasattr(Compressed(KMeans()), "predict")
    assert hasattr(Compressed(PCA()), "transform")
    assert not hasattr(Compressed(PCA()), "predict")


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


def test_one_of_few_rows_is_held_out():
    X = np.random.RandomState(0).standard_normal((8, 3))
    student = KNeighborsRegressor(1)  # reproduces the rows it has seen
    assert Compressed(PCA(2).fit(X), student=student, random_state=0).fit(X).fidelity_ < 0.99
    assert Compressed(PCA(2).fit(X), student=student, holdout=0, random_state=0).fit(X).fidelity_ == 1.0


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
    with pytest.raises(ValueError, match="student must be 'torch'"):
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


@pytest.mark.parametrize("n", [10, 13, 19])
@pytest.mark.parametrize("teacher", [PCA(1), PCA(3)])
def test_a_perfect_student_of_a_few_rows_is_faithful(n, teacher):
    X = np.random.default_rng(0).standard_normal((n, 5)) + 10
    compressed = Compressed(teacher, student=LinearRegression(), random_state=0).fit(X)
    assert compressed.fidelity_ == pytest.approx(1.0)


def test_a_useless_student_of_a_few_rows_is_not():
    X = np.random.default_rng(0).standard_normal((15, 5))
    assert Compressed(PCA(2), student=DummyRegressor(), random_state=0).fit(X).fidelity_ < 0.2


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 + 0.1])
def test_fidelity_to_a_constant_is_undefined_and_said_so(blobs, value):
    X, _ = blobs
    with pytest.warns(DegenerateDataWarning, match="fidelity_ is NaN. Increase holdout"):
        compressed = Compressed(PCA(1), student=Ridge(), random_state=0).fit(X, target=np.full((300, 1), value))
    assert np.isnan(compressed.fidelity_)
    np.testing.assert_allclose(compressed.transform(X), value)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_sparse_bytes_and_repeated_entries_are_scaled_by_what_they_mean(form):
    rng = np.random.default_rng(0)
    X = (rng.integers(100, 256, (60, 4)) * (rng.random((60, 4)) < 0.5)).astype(np.uint8)
    whole = sp.csr_array(X.astype(np.float64))
    twice = form((np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr), shape=X.shape)
    target = X.astype(np.float64) @ rng.standard_normal((4, 2))
    found = [Compressed(PCA(2), student=Ridge(), random_state=0).fit(rows, target=target) for rows in (whole, twice)]
    bytes_ = Compressed(PCA(2), student=Ridge(), random_state=0).fit(form(X), target=target)
    np.testing.assert_allclose(found[0].transform(whole), found[1].transform(twice))
    np.testing.assert_allclose(found[0].transform(whole), bytes_.transform(form(X)), rtol=1e-3)


def test_a_failed_fit_leaves_what_was_there(blobs):
    X, _ = blobs
    new, old = Compressed(PCA(2), student=Ridge()), Compressed(PCA(2), student=Ridge()).fit(X)
    expected = old.transform(X)
    for compressed in (new, old):
        with pytest.raises(ValueError, match="negative"):
            compressed.set_params(student=Ridge(alpha="negative")).fit(X[:, :3])
    with pytest.raises(NotFittedError):
        new.transform(X)
    np.testing.assert_array_equal(old.transform(X), expected)


def test_values_whose_squares_overflow_are_refused(blobs):
    X = blobs[0].copy()
    compressed = Compressed(PCA(2), student=Ridge()).fit(X)
    X[3, 2] = 1e200
    for act in (compressed.transform, compressed.fit):
        with pytest.raises(ValueError, match="X must have magnitudes <= .*, got 1e\\+200; remove outliers"):
            act(X)


def test_a_precomputed_teacher_is_split_by_rows_and_columns(blobs):
    X, y = blobs
    teacher = MultilayerBootstrapNetwork(
        3, n_classes=4, n_clusterings=60, feature_fraction=0.5, metric="precomputed", random_state=0
    )
    model = make_pipeline(Compressed(teacher, student=Ridge(), random_state=0), KNeighborsClassifier())
    assert cross_val_score(model, pairwise_distances(X), y, cv=3).min() > 0.8


def test_files_and_copies_hold_no_training_rows_of_the_teacher(blobs, tmp_path):
    X, _ = blobs
    teacher = BootstrapClustering(3, random_state=0).fit(X)
    small = Compressed(teacher, student=RidgeClassifier(), random_state=0).fit(X)
    polyfold.save(small, tmp_path / "small.polyfold")
    for copy in (polyfold.load(tmp_path / "small.polyfold"), pickle.loads(pickle.dumps(small))):
        assert not hasattr(copy.estimator, "labels_")
        np.testing.assert_array_equal(copy.predict(X), small.predict(X))
    assert hasattr(small.estimator, "labels_")
    unfitted = pickle.loads(pickle.dumps(Compressed(teacher)))
    assert hasattr(unfitted.estimator, "labels_")  # a worker must find the fitted teacher


def test_sparse_rows_train_the_network_as_dense_ones_do(blobs):
    pytest.importorskip("torch")
    X, _ = blobs
    students = [DropoutNetwork((16,), max_iter=3, random_state=0).fit(rows, X[:, :2]) for rows in (X, sp.csr_array(X))]
    np.testing.assert_array_equal(students[0].predict(X), students[1].predict(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "softmax"}, "output must be one of 'linear', 'sigmoid'"),
        ({"dropout": 1.0}, "dropout must be a number >= 0 and <= 0.99"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"batch_size": 0}, "batch_size must be an integer >= 1"),
        ({"learning_rate": 0}, "learning_rate must be a number > 0"),
        ({"hidden": (0,)}, "hidden must be an integer >= 1"),
    ],
)
def test_bad_parameters_of_the_network_are_named(blobs, options, message):
    pytest.importorskip("torch")
    student = DropoutNetwork(**options)
    with pytest.raises(ValueError, match=message):
        student.fit(blobs[0], blobs[0][:, :2])
    with pytest.raises(NotFittedError):
        student.predict(blobs[0])
