import numpy as np
import pytest

from polyfold.kernels import HessianLLE
from polyfold.spectra import spectrum_from_operator
from tests.oracles.manifold import hessian_cost


@pytest.fixture(name="t")
def parameters():
    return np.random.RandomState(0).rand(250, 2) * [3, 1]


@pytest.mark.parametrize("d", [1, 2])
def test_cost_is_the_literal_one(t, d):
    X = np.column_stack([t, 0.3 * np.sin(3 * t[:, 0])])
    ours = HessianLLE(10, n_directions=d).operator_on(X).cost.toarray()
    np.testing.assert_allclose(ours, hessian_cost(X, 10, d), atol=1e-9)


def test_a_rolled_sheet_is_unrolled(t):
    X = np.column_stack([np.cos(t[:, 0]), t[:, 1], np.sin(t[:, 0])])
    Z = spectrum_from_operator(HessianLLE(10).operator_on(X), 2).coordinates(X)
    design = np.column_stack([np.ones(250), Z])
    residual = t - design @ np.linalg.lstsq(design, t, rcond=None)[0]
    assert np.all(residual.var(axis=0) < 0.01 * t.var(axis=0))


def test_second_derivatives_need_enough_neighbours(t):
    with pytest.raises(ValueError, match="n_neighbors must be an integer >= 6, got 5; n_directions=2 needs that many"):
        HessianLLE(5).operator_on(t)
