import numpy as np
import pytest

from polyfold.kernels import DiffusionMaps
from polyfold.spectra import spectrum_from_operator
from tests.oracles.manifold import diffusion_walk


@pytest.fixture(name="X")
def strip():
    return np.random.RandomState(0).rand(150, 2) * [3, 1]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_walk_is_the_literal_one(X, alpha):
    operator = DiffusionMaps(12, alpha=alpha, epsilon=0.1).operator_on(X)
    root = np.sqrt(operator.weights)
    walk = operator.matrix.toarray() * root[None, :] / root[:, None]
    np.testing.assert_allclose(walk, diffusion_walk(X, 12, 0.1, alpha), atol=1e-10)


def test_density_is_removed_by_alpha_one():
    t = np.sort(np.random.RandomState(0).uniform(0, 1, 800) ** 1.5)
    fit = {}
    for alpha in (0.0, 1.0):
        spectrum = spectrum_from_operator(DiffusionMaps(60, alpha=alpha).operator_on(t[:, None]), 1)
        f = spectrum.coordinates(t[:, None])[:, 0]
        fit[alpha] = abs(np.corrcoef(f, np.cos(np.pi * t))[0, 1])
    assert fit[1.0] > 0.995
    assert fit[0.0] < fit[1.0] - 0.002


@pytest.mark.parametrize("parameter", [{"alpha": -1.0}, {"epsilon": 0.0}])
def test_wrong_parameters_are_named(X, parameter):
    with pytest.raises(ValueError, match=next(iter(parameter))):
        DiffusionMaps(5, **parameter).operator_on(X)


def test_regressions_weigh_points_as_the_walk_does(X):
    operator = DiffusionMaps(12).operator_on(X)
    np.testing.assert_array_equal(operator.measure, operator.weights)
