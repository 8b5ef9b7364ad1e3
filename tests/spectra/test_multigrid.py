"""LOBPCG with a multigrid preconditioner agrees with the sparse LU, and the choice of it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from polyfold.kernels import LaplacianEigenmaps, LocallyLinear
from polyfold.spectra import choose_solver, make_solver, residuals

pytest.importorskip("pyamg")


@pytest.fixture(scope="module")
def strip():
    return LaplacianEigenmaps().operator_on(np.random.RandomState(0).rand(4000, 2) * [3, 1])


def trivial(operator):
    return operator.trivial / np.linalg.norm(operator.trivial, axis=0)


@pytest.mark.parametrize("constraints", [0, 5])
def test_directions_equal_those_of_the_sparse_lu(strip, constraints):
    Q = trivial(strip)
    if constraints:
        Q = np.linalg.qr(np.column_stack([Q, make_solver(strip, "inverse").top(Q, constraints)[1]]))[0]
    values, G = make_solver(strip, "multigrid").top(Q, 3)
    expected, W = make_solver(strip, "inverse").top(Q, 3)
    np.testing.assert_allclose(strip.flip - values, strip.flip - expected, rtol=1e-4)
    for g, w in zip(G.T, W.T, strict=True):
        assert abs(g @ w) > 1 - 1e-4
    assert np.abs(Q.T @ G).max() < 1e-10
    assert residuals(strip, Q, G).max() <= 1e-3


def test_components_of_a_graph_have_their_own_directions():
    rng = np.random.RandomState(0)
    with pytest.warns(UserWarning, match="2 components"):
        apart = LaplacianEigenmaps().operator_on(np.concatenate([rng.rand(1500, 2), rng.rand(900, 2) + 10]))
    Q = trivial(apart)
    values, _ = make_solver(apart, "multigrid").top(Q, 3)
    np.testing.assert_allclose(apart.flip - values, apart.flip - make_solver(apart, "inverse").top(Q, 3)[0], rtol=1e-4)


def test_too_few_iterations_give_a_warning(strip, monkeypatch):
    monkeypatch.setattr("polyfold.spectra._eigen._MULTIGRID_ITER", 1)
    with pytest.warns(ConvergenceWarning, match="residual of .* in at most 1 iterations"):
        make_solver(strip, "multigrid").top(trivial(strip), 2)


def test_many_points_of_few_dimensions_use_multigrid(monkeypatch, rng):
    monkeypatch.setattr("polyfold.spectra._eigen._MULTIGRID_ROWS", 1000)
    monkeypatch.setattr("polyfold.spectra._eigen._MAX_FILL", 1000)
    flat = LaplacianEigenmaps().operator_on(rng.rand(1200, 2))
    assert choose_solver(flat) == "multigrid"
    assert choose_solver(LaplacianEigenmaps().operator_on(rng.rand(900, 2))) == "lanczos"
    assert choose_solver(LaplacianEigenmaps().operator_on(rng.standard_normal((1200, 30)))) == "lanczos"
    lle = LocallyLinear().operator_on(rng.rand(1200, 2))
    assert choose_solver(lle) == "lanczos"
    with pytest.raises(ValueError, match="eigen_solver='multigrid' needs a walk"):
        make_solver(lle, "multigrid")
    monkeypatch.setattr("polyfold.spectra._eigen.find_spec", lambda name: None)
    assert choose_solver(flat) == "lanczos"
