import numpy as np
import pytest
from sklearn.manifold import LocallyLinearEmbedding

from polyfold.kernels import LocallyLinear
from polyfold.spectra import spectrum_from_operator
from tests.oracles.manifold import lle_cost


@pytest.fixture(name="X")
def sheet():
    t = np.random.RandomState(0).rand(150, 2) * [3, 1]
    return np.column_stack([t, 0.3 * np.sin(3 * t[:, 0])])


def test_cost_is_the_literal_one(X):
    np.testing.assert_allclose(LocallyLinear(10).operator_on(X).cost.toarray(), lle_cost(X, 10, 1e-3), atol=1e-8)


def test_plain_embedding_is_scikit_learns(X):
    ours = spectrum_from_operator(LocallyLinear(10).operator_on(X), 2).coordinates(X)
    theirs = LocallyLinearEmbedding(n_neighbors=10, n_components=2, eigen_solver="dense").fit_transform(X)
    for i in range(2):
        assert abs(np.corrcoef(ours[:, i], theirs[:, i])[0, 1]) > 1 - 1e-6


def test_new_points_get_scikit_learns_coordinates(X):
    new = X[:20] + 0.02
    model = LocallyLinearEmbedding(n_neighbors=10, n_components=2, eigen_solver="dense").fit(X)
    extension = LocallyLinear(10).operator_on(X).extend(new)
    np.testing.assert_allclose(extension.image(model.embedding_), model.transform(new), atol=1e-6)


def test_negative_regularisation_is_an_error(X):
    with pytest.raises(ValueError, match="reg must be"):
        LocallyLinear(10, reg=-1.0).operator_on(X)
