import numpy as np
import pytest

from polyfold.modular._frames import frame_may_exist, projection_frame, unit_frames


def test_unit_frames_have_unit_rows_and_the_wanted_sum(rng):
    n = rng.dirichlet(np.ones(6), size=4) * 6
    U = unit_frames(n, rng)
    np.testing.assert_allclose(np.linalg.norm(U, axis=2), 1, atol=1e-12)
    np.testing.assert_allclose(U.transpose(0, 2, 1) @ U, [np.diag(row) for row in n], atol=1e-12)


def test_unit_frames_with_empty_directions(rng):
    n = np.array([[3.0, 0.0, 0.0]])
    U = unit_frames(n, rng)
    np.testing.assert_allclose(np.abs(U[0, :, 0]), 1)
    np.testing.assert_allclose(U[0, :, 1:], 0)


@pytest.mark.parametrize(("M", "h", "p"), [(10, 3, 8), (12, 5, 30), (6, 2, 5)])
def test_projection_frame_sums_to_the_diagonal(M, h, p, rng):
    n = rng.uniform(0.5, 1.5, size=p)
    n = np.sort(n * M * h / n.sum())[::-1]
    assert frame_may_exist(n, M, h)
    U = projection_frame(n, M, h, rng)
    assert U is not None
    np.testing.assert_allclose(U @ U.transpose(0, 2, 1), np.broadcast_to(np.eye(h), (M, h, h)), atol=1e-10)
    rows = U.reshape(-1, p)
    np.testing.assert_allclose(rows.T @ rows, np.diag(n), atol=1e-8)


@pytest.mark.parametrize(
    ("n", "M", "h"),
    [
        ([1.5, 1.3, 1.2], 2, 2),  # two planes in three dimensions share a line
        ([1.2] * 5, 3, 2),  # P_3 v = 1.2 v is impossible
        ([1.17, 1.02, 0.94, 0.87], 2, 2),  # principal angles come in pairs
        ([1.0, 1.0], 2, 2),  # trace
    ],
)
def test_impossible_frames_are_told(n, M, h):
    assert not frame_may_exist(np.array(n), M, h)


@pytest.mark.parametrize(
    ("n", "M", "h"), [([1.5, 1.3, 1.2], 2, 2), ([1.2] * 5, 3, 2), ([1.17, 1.02, 0.94, 0.87], 2, 2)]
)
def test_a_search_for_an_impossible_frame_ends_without_one(n, M, h, rng):
    assert projection_frame(np.array(n), M, h, rng) is None


@pytest.mark.parametrize(
    ("n", "M", "h"), [([1.4, 1.2, 0.8, 0.6], 2, 2), ([2.9, 1.6, 1.5], 3, 2), ([3.6, 3.4, 1.0], 4, 2)]
)
def test_possible_frames_pass_and_are_found(n, M, h, rng):
    assert frame_may_exist(np.array(n), M, h)
    rows = projection_frame(np.array(n), M, h, rng).reshape(M * h, -1)
    np.testing.assert_allclose(rows.T @ rows, np.diag(n), atol=1e-8)
