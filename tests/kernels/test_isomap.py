import numpy as np
import pytest
import sklearn.manifold

from polyfold.kernels import Isomap
from polyfold.spectra import spectrum_from_operator
from tests.oracles.manifold import geodesics


@pytest.fixture(name="X")
def sheet():
    t = np.random.RandomState(0).rand(150, 2) * [3, 1]
    return np.column_stack([np.cos(2 * t[:, 0]), t[:, 1], np.sin(2 * t[:, 0])])


def test_matrix_is_minus_half_the_squared_geodesics(X):
    np.testing.assert_allclose(Isomap(8).operator_on(X).matrix, -0.5 * geodesics(X, 8) ** 2, atol=1e-9)


def test_embedding_and_new_points_are_scikit_learns(X):
    new = X[:30] + 0.01
    spectrum = spectrum_from_operator(Isomap(8).operator_on(X), 2)
    theirs = sklearn.manifold.Isomap(n_neighbors=8, n_components=2).fit(X)
    for ours, expected in (
        (spectrum.coordinates(X), theirs.embedding_),
        (spectrum.coordinates(new), theirs.transform(new)),
    ):
        np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-6)


def test_all_points_as_landmarks_lose_nothing(X):
    full = spectrum_from_operator(Isomap(8).operator_on(X), 2).coordinates(X)
    some = spectrum_from_operator(Isomap(8, n_landmarks=75).operator_on(X), 2).coordinates(X)
    for i in range(2):
        assert abs(np.corrcoef(full[:, i], some[:, i])[0, 1]) > 0.999


def test_landmarks_keep_memory_linear(X):
    operator = Isomap(8, n_landmarks=20).operator_on(X)
    assert operator.matrix is None
    assert operator.factor.shape[0] == 150
    assert operator.factor.shape[1] < 20


def test_many_points_use_landmarks_by_default():
    assert len(Isomap()._landmarks(2000)) == 2000
    assert len(Isomap()._landmarks(30_000)) == 1000


def test_landmarks_must_exist(X):
    with pytest.raises(ValueError, match="n_landmarks must be an integer >= 2 and <= 150, got 151"):
        Isomap(8, n_landmarks=151).operator_on(X)


def test_given_distances_must_connect(X):
    far = np.concatenate([X, X + 100])
    distances = np.linalg.norm(far[:, None] - far[None], axis=2)
    with pytest.raises(ValueError, match="2 components, Isomap needs one"):
        Isomap(8, neighbors="precomputed").operator_on(distances)


def test_landmarks_measure_the_same_paths():
    t = np.random.RandomState(0).rand(500, 2) * [3, 1]
    X = np.column_stack([np.cos(t[:, 0]), t[:, 1], np.sin(t[:, 0])])
    full = spectrum_from_operator(Isomap(14).operator_on(X), 2).coordinates(X)
    some = spectrum_from_operator(Isomap(14, n_landmarks=250).operator_on(X), 2).coordinates(X)
    for i in range(2):
        assert abs(np.corrcoef(full[:, i], some[:, i])[0, 1]) > 0.99
