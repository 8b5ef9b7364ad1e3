"""Single steps of the iterative solvers, and conditions at their borders."""

import numpy as np
import pytest

from polyfold.modular import modular_gradient, solve_backfit, solve_stochastic
from polyfold.modular._adam_sgd import LEARNING_RATES
from polyfold.modular._frames import frame_may_exist, projection_frame
from polyfold.modular._sweeps import random_factors

D = 0.8 ** np.arange(8)


def test_one_module_has_its_optimum_after_one_epoch():
    """Proposition 3 of [Reeve2015]: the second epoch shows that there is nothing left to gain."""
    solution = solve_backfit(D, 1, 3, 0.5, np.random.RandomState(0))
    assert solution.converged
    assert len(solution.loss_curve) == 2
    assert solution.loss_curve[0] == pytest.approx(solution.loss_curve[1])


@pytest.mark.parametrize("n_rows", [40, 200])
def test_an_epoch_of_one_batch_is_one_step_along_the_gradient(n_rows):
    C = np.linalg.qr(np.random.RandomState(1).standard_normal((n_rows, 8)))[0] * np.sqrt(D)
    found = solve_stochastic(
        D, 3, 2, 0.7, np.random.RandomState(0), C, max_iter=1, learning_rates=(0.1,), batch_size=n_rows
    )
    start = random_factors(D[:6], 3, 2, np.random.RandomState(0)) / np.sqrt(D[:6])
    step = start - 0.1 * modular_gradient(start, np.diag(D[:6] / D[0]), 0.7)
    np.testing.assert_allclose(found.factors, step * np.sqrt(D[:6]), atol=1e-12)


def test_learning_rates_are_those_of_the_paper():
    """[Reeve2018, Sec. 6.1]: powers of ten from 1e-6 to 1e2."""
    np.testing.assert_allclose(LEARNING_RATES, [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100])


def test_two_of_three_wide_subspaces_always_meet(rng):
    """Three-dimensional subspaces of five dimensions share a direction, which counts twice: the largest n is >= 2."""
    n = np.array([1.9, 1.85, 1.8, 1.75, 1.7])
    assert not frame_may_exist(n, 3, 3)
    assert projection_frame(n, 3, 3, rng) is None
