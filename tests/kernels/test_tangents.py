import numpy as np
import pytest
from sklearn.manifold import LocallyLinearEmbedding

from polyfold.kernels import TangentAlignment
from polyfold.spectra import spectrum_from_operator
from tests.oracles.manifold import ltsa_cost


@pytest.fixture(name="X")
def sheet():
    t = np.random.RandomState(0).rand(150, 2) * [3, 1]
    return np.column_stack([t, 0.3 * np.sin(3 * t[:, 0])])


@pytest.mark.parametrize("d", [1, 2])
def test_cost_is_the_literal_one(X, d):
    ours = TangentAlignment(10, n_directions=d).operator_on(X).cost.toarray()
    np.testing.assert_allclose(ours, ltsa_cost(X, 10, d), atol=1e-9)


def test_plain_embedding_is_scikit_learns(X):
    ours = spectrum_from_operator(TangentAlignment(10).operator_on(X), 2).coordinates(X)
    model = LocallyLinearEmbedding(n_neighbors=10, n_components=2, method="ltsa", eigen_solver="dense")
    theirs = model.fit_transform(X)
    for i in range(2):
        assert abs(np.corrcoef(ours[:, i], theirs[:, i])[0, 1]) > 1 - 1e-6


def test_wide_data_use_the_same_tangents(X):
    wide = np.column_stack([X, np.zeros((150, 30))])
    a, b = (TangentAlignment(8).operator_on(Y).cost.toarray() for Y in (X, wide))
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_too_many_directions_are_an_error(X):
    with pytest.raises(ValueError, match="n_neighbors must be an integer >= 6, got 5; n_directions=5 needs that many"):
        TangentAlignment(5, n_directions=5).operator_on(X)
