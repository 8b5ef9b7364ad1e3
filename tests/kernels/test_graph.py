import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

from polyfold.exceptions import GraphWarning
from polyfold.kernels import (
    KERNELS,
    DiffusionMaps,
    HessianLLE,
    Isomap,
    LaplacianEigenmaps,
    LocallyLinear,
    TangentAlignment,
    factor_fill,
)

GRAPH = [LaplacianEigenmaps, DiffusionMaps, LocallyLinear, HessianLLE, TangentAlignment, Isomap]
MINIMISERS = [LocallyLinear, HessianLLE, TangentAlignment]


@pytest.fixture(name="X")
def sheet():
    t = np.random.RandomState(0).rand(200, 2) * [3, 1]
    return np.column_stack([t, 0.2 * np.sin(2 * t[:, 0])])


@pytest.mark.parametrize("kernel", GRAPH)
def test_matrix_is_symmetric(X, kernel):
    K = kernel(n_neighbors=10).operator(X).matrix
    K = K.toarray() if sp.issparse(K) else K
    np.testing.assert_allclose(K, K.T, atol=1e-12)


@pytest.mark.parametrize("kernel", [LaplacianEigenmaps, *MINIMISERS])
def test_flip_is_lambda_max_minus_the_cost_and_positive(X, kernel):
    operator = kernel(n_neighbors=10).operator(X)
    cost = operator.cost.toarray()
    np.testing.assert_allclose(operator.matrix.toarray(), operator.flip * np.eye(len(X)) - cost, atol=1e-9)
    assert operator.flip == pytest.approx(np.linalg.eigvalsh(cost)[-1], rel=1e-3)
    assert np.linalg.eigvalsh(operator.matrix.toarray())[0] > -1e-9


@pytest.mark.parametrize("kernel", [LaplacianEigenmaps, DiffusionMaps, *MINIMISERS])
def test_constants_cost_nothing(X, kernel):
    operator = kernel(n_neighbors=10).operator(X)
    np.testing.assert_allclose(operator.cost @ operator.trivial, 0, atol=1e-9)
    np.testing.assert_allclose(operator.trivial[:, 0], np.sqrt(operator.weights))


@pytest.mark.parametrize("kernel", GRAPH)
def test_memory_is_sparse_where_the_method_is(X, kernel):
    K = kernel(n_neighbors=10).operator(X).matrix
    assert sp.issparse(K) == (kernel is not Isomap)


@pytest.mark.parametrize("kernel", MINIMISERS)
def test_interpolation_reproduces_linear_functions_of_the_tangent(kernel):
    rng = np.random.RandomState(0)
    flat = np.column_stack([rng.rand(300, 2), np.zeros(300)])
    new = np.column_stack([rng.uniform(0.2, 0.8, (40, 2)), np.zeros(40)])
    rows = kernel(n_neighbors=10).operator(flat).extend(new).rows
    np.testing.assert_allclose(rows @ flat[:, :2], new[:, :2], atol=0.02)
    np.testing.assert_allclose(rows.sum(axis=1), 1)


@pytest.mark.parametrize("kernel", GRAPH)
def test_training_points_keep_their_own_row(X, kernel):
    operator = kernel(n_neighbors=10).operator(X)
    f = np.random.RandomState(1).randn(len(X), 2)
    image = operator.rows(X) @ f
    if kernel in MINIMISERS:
        expected = f
    elif kernel is Isomap:
        expected = operator.matrix @ f
    else:
        root = np.sqrt(operator.weights)[:, None]
        times = operator.extend(X).times[:, None]
        expected = f - times * (operator.cost @ (f * root)) / root
    np.testing.assert_allclose(image, expected, atol=1e-8)


@pytest.mark.parametrize("kernel", GRAPH)
def test_operators_survive_pickling(X, kernel):
    operator = kernel(n_neighbors=10).operator(X)
    new = X[:5] + 0.01
    a, b = operator.rows(new), pickle.loads(pickle.dumps(operator)).rows(new)
    a, b = (M.toarray() if sp.issparse(M) else M for M in (a, b))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kernel", [LaplacianEigenmaps, DiffusionMaps, *MINIMISERS])
def test_disconnected_graph_is_warned_of_and_has_one_trivial_vector_per_component(kernel):
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.rand(60, 3), 100 + rng.rand(40, 3)])
    with pytest.warns(GraphWarning, match=r"2 components \(sizes 60, 40\)"):
        operator = kernel(n_neighbors=8).operator(X)
    assert operator.trivial.shape == (100, 2)
    np.testing.assert_allclose(operator.cost @ operator.trivial, 0, atol=1e-8)


def test_isomap_joins_components():
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.rand(60, 3), 5 + rng.rand(40, 3), rng.rand(20, 3) - 5])
    with pytest.warns(GraphWarning, match="joined by their shortest edges"):
        operator = Isomap(n_neighbors=6).operator(X)
    assert np.all(np.isfinite(operator.matrix))


@pytest.mark.parametrize("kernel", GRAPH)
def test_duplicates_leave_finite_matrices(kernel):
    rng = np.random.RandomState(0)
    X = np.repeat(rng.rand(40, 3), 2, axis=0)
    K = kernel(n_neighbors=10).operator(X).matrix
    assert np.all(np.isfinite(K.toarray() if sp.issparse(K) else K))


@pytest.mark.parametrize("kernel", GRAPH)
def test_points_that_are_all_the_same_are_refused(kernel):
    with pytest.raises(ValueError, match="needs points at different places, got 40 rows"):
        kernel().operator(np.full((40, 3), 2.0))


@pytest.mark.parametrize("kernel", GRAPH)
def test_more_neighbours_than_points_is_an_error(kernel):
    with pytest.raises(ValueError, match="n_neighbors must be an integer >= 1 and <= 9, got 12; X has 10 samples"):
        kernel(n_neighbors=12).operator(np.random.RandomState(0).rand(10, 3))


def test_default_neighbours_shrink_with_the_sample():
    assert LaplacianEigenmaps().operator(np.random.RandomState(0).rand(6, 2)).n_samples == 6


def dense(operator):
    return operator.matrix.toarray() if sp.issparse(operator.matrix) else operator.matrix


@pytest.mark.parametrize("kernel", GRAPH)
def test_any_neighbours_transformer_supplies_the_graph(X, kernel):
    ours = kernel(n_neighbors=10).operator(X)
    given = kernel(n_neighbors=10, neighbors=KNeighborsTransformer(n_neighbors=12)).operator(X)
    np.testing.assert_allclose(dense(ours), dense(given), atol=1e-9)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kernel", [LaplacianEigenmaps, DiffusionMaps, Isomap])
def test_precomputed_distances_give_the_same_matrix_and_rows(X, kernel, form):
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    new = np.linalg.norm((X[:4] + 0.01)[:, None] - X[None], axis=2)
    if form == "sparse":
        distances, new = sp.csr_array(distances), sp.csr_array(new)
    ours, given = (
        kernel(n_neighbors=10).operator(X),
        kernel(n_neighbors=10, neighbors="precomputed").operator(distances),
    )
    np.testing.assert_allclose(dense(ours), dense(given), atol=1e-9)
    a, b = ours.rows(X[:4] + 0.01) @ X, given.rows(new) @ X
    np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("kernel", MINIMISERS)
def test_kernels_on_points_refuse_distances(kernel):
    with pytest.raises(ValueError, match="needs the points themselves"):
        kernel(neighbors="precomputed").operator(np.zeros((20, 20)))


def test_fill_is_small_for_flat_data_and_large_for_wide_data():
    rng = np.random.RandomState(0)
    flat = LaplacianEigenmaps(8).operator(rng.rand(800, 2)).cost
    wide = LaplacianEigenmaps(8).operator(rng.randn(800, 12)).cost
    assert factor_fill(wide) > 3 * factor_fill(flat)


def test_every_graph_kernel_has_a_name():
    assert set(GRAPH) <= set(KERNELS.values())
