"""Eigenvectors from coarse to fine: the inverse, the solver, and the choice of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from polyfold._running import using_threads
from polyfold.kernels import LaplacianEigenmaps, LocallyLinear
from polyfold.spectra import _smallest as module
from polyfold.spectra import choose_solver, make_solver, residuals
from polyfold.spectra._multigrid import Multigrid
from polyfold.spectra._rows import SparseRows, inner, take_off


@pytest.fixture(scope="module")
def strip():
    return LaplacianEigenmaps().operator_on(np.random.RandomState(0).rand(4000, 2) * [3, 1])


def trivial(operator):
    return operator.trivial / np.linalg.norm(operator.trivial, axis=0)


def test_a_cycle_takes_off_most_of_an_error_and_is_symmetric(strip, rng):
    grid, Q = Multigrid(strip.cost, np.sqrt(strip.weights)), trivial(strip)
    assert len(grid.levels) >= 1
    B = take_off(Q, rng.standard_normal((4000, 2)))
    X = np.zeros_like(B)
    for _ in range(30):
        X += take_off(Q, grid.solve(B - strip.cost @ X))
    assert np.linalg.norm(B - strip.cost @ X) < 1e-3 * np.linalg.norm(B)
    Y = grid.solve(B)
    assert B[:, 0] @ Y[:, 1] == pytest.approx(B[:, 1] @ Y[:, 0], rel=1e-8)


def test_groups_without_neighbours_are_an_end_and_not_an_endless_loop(monkeypatch):
    monkeypatch.setattr("polyfold.spectra._multigrid.COARSEST", 10)
    alone = Multigrid(sp.eye_array(50, format="csr"), np.ones(50))
    np.testing.assert_allclose(alone.solve(np.ones((50, 1))), 1, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("constraints", [0, 5])
def test_the_directions_are_those_of_the_inverse(strip, constraints, rng):
    Q = trivial(strip)
    if constraints:
        Q = np.linalg.qr(np.column_stack([Q, make_solver(strip, "inverse").top(Q, constraints)[1]]))[0]
    values, G = make_solver(strip, "multigrid").top(Q, 3)
    wanted, W = make_solver(strip, "inverse").top(Q, 3)
    np.testing.assert_allclose(strip.flip - values, strip.flip - wanted, rtol=1e-4)
    for g, w in zip(G.T, W.T, strict=True):
        assert abs(g @ w) > 1 - 1e-4
    assert np.abs(Q.T @ G).max() < 1e-10
    assert residuals(strip, Q, G).max() <= module.TOL


def test_parts_of_a_graph_have_directions_of_their_own():
    rng = np.random.RandomState(0)
    with pytest.warns(UserWarning, match="2 components"):
        apart = LaplacianEigenmaps().operator_on(np.concatenate([rng.rand(1500, 2), rng.rand(900, 2) + 10]))
    Q = trivial(apart)
    values, _ = make_solver(apart, "multigrid").top(Q, 3)
    np.testing.assert_allclose(apart.flip - values, apart.flip - make_solver(apart, "inverse").top(Q, 3)[0], rtol=1e-4)


def test_threads_change_no_bit(strip, monkeypatch):
    monkeypatch.setattr("polyfold.spectra._rows.BLOCK", 1000)
    found = []
    for threads in (1, 3):
        with using_threads(threads):
            found.append(make_solver(strip, "multigrid").top(trivial(strip), 2)[1])
    np.testing.assert_array_equal(*found)


def test_blocks_of_rows_are_the_whole(strip, monkeypatch, rng):
    monkeypatch.setattr("polyfold.spectra._rows.BLOCK", 700)
    V = rng.standard_normal((4000, 3))
    np.testing.assert_allclose(SparseRows(strip.cost) @ V, strip.cost @ V, atol=1e-12)
    np.testing.assert_allclose(inner(V, V), V.T @ V)


def test_what_is_not_solved_is_said(strip, monkeypatch):
    monkeypatch.setattr(module, "MAX_ITER", 1)
    with pytest.warns(ConvergenceWarning, match="residual of .* in 1 iterations, not 0.003"):
        make_solver(strip, "multigrid").top(trivial(strip), 2)


def test_many_points_of_few_dimensions_are_solved_from_coarse_to_fine(monkeypatch, rng):
    monkeypatch.setattr("polyfold.spectra._eigen._MULTIGRID_ROWS", 1000)
    monkeypatch.setattr("polyfold.spectra._eigen._MAX_FILL", 1000)
    assert choose_solver(LaplacianEigenmaps().operator_on(rng.rand(1200, 2))) == "multigrid"
    assert choose_solver(LaplacianEigenmaps().operator_on(rng.rand(900, 2))) == "lanczos"
    assert choose_solver(LaplacianEigenmaps().operator_on(rng.standard_normal((1200, 30)))) == "lanczos"
    lle = LocallyLinear().operator_on(rng.rand(1200, 2))
    assert choose_solver(lle) == "lanczos"
    with pytest.raises(ValueError, match="eigen_solver='multigrid' needs a walk"):
        make_solver(lle, "multigrid")
