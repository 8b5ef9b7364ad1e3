import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.neighbors import KNeighborsRegressor

from polyfold._regression import NeighborRegression, novelty
from polyfold.nonredundant import Selected, best_rotation, select_kernel


@pytest.fixture
def square():
    return np.random.RandomState(0).uniform(-1, 1, (1000, 2))


@pytest.fixture
def sheet(square):
    x, y = square.T
    return np.column_stack([x, y, x * y, np.sin(2 * x)])


def unexplained(F, X, **options):
    return NeighborRegression.of(X, np.arange(X.shape[0])).unexplained(F, **options)


def test_errors_are_those_of_a_leave_one_out_regression(square, sheet):
    F = square / square.std(axis=0)
    errors = unexplained(square, sheet)
    for i in range(0, 1000, 250):
        others = np.arange(1000) != i
        guess = KNeighborsRegressor(10).fit(F[others], sheet[others]).predict(F[i : i + 1])
        assert_allclose(errors[i], np.sum((guess - sheet[i]) ** 2) / sheet.var(axis=0).sum(), rtol=1e-8)


def test_true_coordinates_explain_the_data_and_unrelated_ones_do_not(square, sheet):
    assert unexplained(square, sheet).mean() < 0.01
    assert unexplained(np.random.RandomState(1).randn(1000, 2), sheet).mean() > 0.9


def test_the_criterion_depends_neither_on_origin_nor_on_scale(square, sheet):
    expected = unexplained(square, sheet)
    assert_allclose(unexplained(square * [1e-5, 1e5] + 3, 1e150 * sheet + 1e152), expected, rtol=1e-6)


def test_sparse_rows_give_the_same_errors(square, sheet):
    X = np.maximum(sheet, 0)
    assert_allclose(unexplained(square, sp.csr_array(X)), unexplained(square, X), rtol=1e-8)


def test_distances_give_the_errors_of_the_rows(square, sheet):
    D = np.linalg.norm(sheet[:, None] - sheet[None], axis=2)
    errors = NeighborRegression.of_distances(1e200 * D, np.arange(1000)).unexplained(square)
    assert_allclose(errors, unexplained(square, sheet), rtol=1e-6, atol=1e-9)


def test_constant_data_have_nothing_to_explain(square):
    assert_allclose(unexplained(square, np.full((1000, 3), 7.0)), 0)


def test_few_rows_use_all_others(square, sheet):
    assert np.isfinite(unexplained(square[:4], sheet[:4])).all()


def test_only_the_chosen_rows_are_predicted(square, sheet):
    rows = np.arange(0, 1000, 3)
    subset = NeighborRegression.of(sheet[rows], rows)
    assert_allclose(subset.unexplained(square), unexplained(square[rows], sheet[rows]))


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ({"a": 0.10, "b": 0.09, "c": 0.085}, "a"),
        ({"a": 0.10, "b": 0.05, "c": 0.045}, "b"),
        ({"a": 0.10, "b": 0.05, "c": 0.02}, "c"),
        ({"a": 0.0, "b": 0.0}, "a"),
    ],
)
def test_a_kernel_must_leave_clearly_less_than_those_before_it(scores, chosen):
    found = {name: Selected([None], np.array([score]), np.array([1.1])) for name, score in scores.items()}
    assert select_kernel(found) == chosen


@pytest.mark.parametrize(("permuted", "chosen"), [(0.3, "b"), (0.6, "a")])
def test_a_kernel_with_more_coordinates_must_be_worth_them(permuted, chosen):
    few = Selected([None], np.array([0.2]), np.array([1.1]))
    many = Selected([None] * 2, np.array([0.5, 0.1]), np.array([1.1, permuted]))
    assert select_kernel({"a": few, "b": many}) == chosen


def test_novelty_is_low_for_functions_of_earlier_coordinates_and_high_for_new_ones(square):
    x, y = square.T
    found = novelty(np.column_stack([x, np.cos(3 * x), y]), 0)
    assert found[0] == 1
    assert found[1] < 0.05
    assert 0.9 < found[2] <= 1


def turned(T, degrees=40):
    """Return the columns of `T`, the last two rotated against each other."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return T @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def test_mixed_coordinates_are_rotated_back():
    T = np.random.RandomState(0).uniform(-1, 1, (1500, 3))
    F = turned(T) / T.std()
    regression = NeighborRegression.of(T * [3.0, 2.0, 1.0], np.arange(1500))
    R = best_rotation(regression, F)
    assert_allclose(R.T @ R, np.eye(3), atol=1e-12)
    assert_allclose(R[0], [1, 0, 0], atol=1e-12)
    assert np.abs(np.corrcoef((F @ R).T, T.T)[:3, 3:]).diagonal().min() > 0.99
    assert_allclose(regression.unexplained(F @ R).mean(), regression.unexplained(F).mean(), rtol=0.02)


@pytest.mark.parametrize("lengths", [(3.0, 1.0, 1.0), (3.0, 2.0, 1.0)])
def test_coordinates_that_are_not_mixed_or_have_equal_lengths_stay(lengths):
    T = np.random.RandomState(0).standard_normal((1500, 3))
    F = T if lengths[1] > lengths[2] else turned(T)
    assert_allclose(best_rotation(NeighborRegression.of(T * lengths, np.arange(1500)), F), np.eye(3))
