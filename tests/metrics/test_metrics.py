import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from polyfold import metrics
from tests.oracles import modular as oracle


def test_inner_product_loss_is_the_definition(rng):
    Z, K = rng.standard_normal((8, 2)), rbf_kernel(rng.standard_normal((8, 3)))
    assert metrics.inner_product_loss(Z, K) == pytest.approx(oracle.inner_product_loss(Z, K))


@pytest.mark.parametrize("lam", [0, 0.3, 1])
def test_modular_loss_is_the_definition_by_variance(lam, rng):
    """Proposition 2 of [Reeve2018]: the two forms of the loss agree."""
    modules, K = rng.standard_normal((4, 8, 2)), rbf_kernel(rng.standard_normal((8, 3)))
    assert metrics.modular_loss(modules, K, lam) == pytest.approx(oracle.modular_loss_by_variance(modules, K, lam))


def test_losses_want_matching_points(rng):
    with pytest.raises(ValueError, match=r"K must have shape \(8, 8\).*got \(7, 7\)"):
        metrics.inner_product_loss(rng.standard_normal((8, 2)), np.eye(7))


def test_distance_correlation_is_the_definition(rng):
    X = rng.standard_normal((50, 3))
    Y = np.sin(X[:, :1]) + 0.3 * rng.standard_normal((50, 2))
    assert metrics.distance_correlation(X, Y) == pytest.approx(oracle.distance_correlation(X, Y))


def test_distance_correlation_in_blocks_is_the_same(rng, monkeypatch):
    X, Y = rng.standard_normal((300, 3)), rng.standard_normal((300, 2))
    whole = metrics.distance_correlation(X, Y)
    monkeypatch.setattr("polyfold._linalg.BLOCK_BYTES", 100_000)
    assert metrics.distance_correlation(X, Y) == pytest.approx(whole, rel=1e-12)


def test_distance_correlation_of_rotations_is_one_and_of_a_constant_zero(rng):
    X = rng.standard_normal((30, 3))
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert metrics.distance_correlation(X, 2 * X @ Q + 1) == pytest.approx(1)
    assert metrics.distance_correlation(X, np.ones(30)) == 0


def test_module_scores(rng):
    X = rng.standard_normal((40, 3))
    modules = np.array([X[:, :2], X[:, 1:]])
    np.testing.assert_allclose(
        metrics.module_fidelity(modules, X), [oracle.distance_correlation(Z, X) for Z in modules]
    )
    assert metrics.module_correlation(modules) == pytest.approx(oracle.distance_correlation(*modules))
    assert metrics.module_correlation(modules[:1]) == 1


def test_retrieval_precision_counts_shared_neighbours():
    assert metrics.retrieval_precision([[1, 2, 3]], [[3, 4, 5]]) == pytest.approx(1 / 3)
    assert metrics.retrieval_precision([[1, -1, -1]], [[1, 2, 3]]) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="found and truth must describe the same points, got 1 and 2 rows"):
        metrics.retrieval_precision([[1]], [[1], [2]])


def test_clustering_scores_ignore_names():
    truth, found = [0, 0, 1, 1, 2, 2], [2, 2, 0, 0, 1, 0]
    assert metrics.clustering_accuracy(truth, found) == pytest.approx(5 / 6)
    assert metrics.clustering_accuracy(truth, np.zeros(6)) == pytest.approx(1 / 3)
    assert metrics.nmi(truth, truth) == pytest.approx(1)
    assert metrics.nmi(truth, np.zeros(6)) == 0


def test_bytes_do_not_wrap():
    Z = np.array([[20], [20]], dtype=np.uint8)
    K = [[400, 400], [400, 400]]
    assert metrics.inner_product_loss(Z, K) == 0
    assert metrics.modular_loss(np.array([Z, Z]), K, 0.5) == pytest.approx(0, abs=1e-20)


def test_distance_correlation_far_from_the_origin(rng):
    x = rng.standard_normal((100, 1))
    y = x**2 + 0.3 * rng.standard_normal((100, 1))
    near = metrics.distance_correlation(x, y)
    assert metrics.distance_correlation(x + 1e8, y) == pytest.approx(near, abs=1e-6)


def test_a_constant_of_any_height_is_uncorrelated(rng):
    assert metrics.distance_correlation(rng.standard_normal((30, 2)), np.full((30, 3), 0.1)) == 0


def test_missing_true_neighbours_do_not_count():
    assert metrics.retrieval_precision([[1, -1]], [[1, -1]]) == 1
    with pytest.raises(ValueError, match="truth must hold at least one index"):
        metrics.retrieval_precision([[1]], [[-1]])
    with pytest.raises(TypeError, match="found must hold integer indices, got float64"):
        metrics.retrieval_precision([[0.5]], [[1]])


@pytest.mark.parametrize("unit", [1e308, 1e-300])
def test_distance_correlation_at_the_ends_of_the_range(unit):
    x = np.array([1.0, -1.0, 0.0, 0.5])
    assert metrics.distance_correlation(unit * x, x**2) == pytest.approx(metrics.distance_correlation(x, x**2))
