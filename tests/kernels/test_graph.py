import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

import polyfold as pf
from polyfold.exceptions import GraphWarning
from polyfold.kernels import (
    KERNELS,
    DiffusionMaps,
    HessianLLE,
    Isomap,
    LaplacianEigenmaps,
    LocallyLinear,
    TangentAlignment,
)

GRAPH = [LaplacianEigenmaps, DiffusionMaps, LocallyLinear, HessianLLE, TangentAlignment, Isomap]
MINIMISERS = [LocallyLinear, HessianLLE, TangentAlignment]


@pytest.fixture(name="X")
def sheet():
    t = np.random.RandomState(0).rand(200, 2) * [3, 1]
    return np.column_stack([t, 0.2 * np.sin(2 * t[:, 0])])


@pytest.mark.parametrize("kernel", GRAPH)
def test_matrix_is_symmetric(X, kernel):
    K = kernel(n_neighbors=10).operator_on(X).matrix
    K = K.toarray() if sp.issparse(K) else K
    np.testing.assert_allclose(K, K.T, atol=1e-12)


@pytest.mark.parametrize("kernel", [LaplacianEigenmaps, *MINIMISERS])
def test_flip_is_lambda_max_minus_the_cost_and_positive(X, kernel):
    operator = kernel(n_neighbors=10).operator_on(X)
    cost = operator.cost.toarray()
    np.testing.assert_allclose(operator.matrix.toarray(), operator.flip * np.eye(len(X)) - cost, atol=1e-9)
    assert operator.flip == pytest.approx(np.linalg.eigvalsh(cost)[-1], rel=1e-3)
    assert np.linalg.eigvalsh(operator.matrix.toarray())[0] > -1e-9


@pytest.mark.parametrize("kernel", [LaplacianEigenmaps, DiffusionMaps, *MINIMISERS])
def test_constants_cost_nothing(X, kernel):
    operator = kernel(n_neighbors=10).operator_on(X)
    np.testing.assert_allclose(operator.cost @ operator.trivial, 0, atol=1e-9)
    np.testing.assert_allclose(operator.trivial[:, 0], np.sqrt(operator.weights))


@pytest.mark.parametrize("kernel", GRAPH)
def test_memory_is_sparse_where_the_method_is(X, kernel):
    K = kernel(n_neighbors=10).operator_on(X).matrix
    assert sp.issparse(K) == (kernel is not Isomap)


@pytest.mark.parametrize("kernel", MINIMISERS)
def test_interpolation_reproduces_linear_functions_of_the_tangent(kernel):
    rng = np.random.RandomState(0)
    flat = np.column_stack([rng.rand(300, 2), np.zeros(300)])
    new = np.column_stack([rng.uniform(0.2, 0.8, (40, 2)), np.zeros(40)])
    image = kernel(n_neighbors=10).operator_on(flat).extend(new).image
    np.testing.assert_allclose(image(flat[:, :2]), new[:, :2], atol=0.02)
    np.testing.assert_allclose(image(np.ones((300, 1))), 1)


@pytest.mark.parametrize("kernel", GRAPH)
def test_training_points_keep_their_own_values(X, kernel):
    extension = kernel(n_neighbors=10).operator_on(X).extend(X)
    f = np.random.RandomState(1).randn(len(X), 2)
    np.testing.assert_array_equal(extension.values(f, np.array([0.5, 0.6]), np.zeros((1, 2))), f)


def test_geodesics_of_new_points_are_those_of_the_training_points_they_are(X):
    operator, f = Isomap(n_neighbors=10).operator_on(X), np.random.RandomState(1).randn(len(X), 2)
    np.testing.assert_allclose(operator.extend(X).image(f), operator.apply(f), atol=1e-8)


@pytest.mark.parametrize("kernel", GRAPH)
def test_operators_survive_pickling(X, kernel):
    operator = kernel(n_neighbors=10).operator_on(X)
    new, f = X[:5] + 0.01, np.eye(len(X))
    again = pickle.loads(pickle.dumps(operator))
    np.testing.assert_array_equal(again.extend(new).image(f), operator.extend(new).image(f))
    np.testing.assert_array_equal(again.apply(f), operator.apply(f))


@pytest.mark.parametrize("kernel", [LaplacianEigenmaps, DiffusionMaps, *MINIMISERS])
def test_disconnected_graph_is_warned_of_and_has_one_trivial_vector_per_component(kernel):
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.rand(60, 3), 100 + rng.rand(40, 3)])
    with pytest.warns(GraphWarning, match=r"2 components \(sizes 60, 40\)"):
        operator = kernel(n_neighbors=8).operator_on(X)
    assert operator.trivial.shape == (100, 2)
    np.testing.assert_allclose(operator.cost @ operator.trivial, 0, atol=1e-8)


def test_isomap_joins_components():
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.rand(60, 3), 5 + rng.rand(40, 3), rng.rand(20, 3) - 5])
    with pytest.warns(GraphWarning, match="joined by their shortest edges"):
        operator = Isomap(n_neighbors=6).operator_on(X)
    assert np.all(np.isfinite(operator.matrix))


@pytest.mark.parametrize("kernel", GRAPH)
def test_duplicates_leave_finite_matrices(kernel):
    rng = np.random.RandomState(0)
    X = np.repeat(rng.rand(40, 3), 2, axis=0)
    K = kernel(n_neighbors=10).operator_on(X).matrix
    assert np.all(np.isfinite(K.toarray() if sp.issparse(K) else K))


@pytest.mark.parametrize("kernel", GRAPH)
def test_points_that_are_all_the_same_are_refused(kernel):
    with pytest.raises(ValueError, match="needs at least 3 points at different places, got 1;"):
        kernel().operator_on(np.full((40, 3), 2.0))


@pytest.mark.parametrize("kernel", GRAPH)
def test_more_neighbours_than_points_is_an_error(kernel):
    with pytest.raises(ValueError, match="n_neighbors must be an integer >= 1 and <= 9, got 12; X has 10 samples"):
        kernel(n_neighbors=12).operator_on(np.random.RandomState(0).rand(10, 3))


def test_default_neighbours_shrink_with_the_sample():
    assert LaplacianEigenmaps().operator_on(np.random.RandomState(0).rand(6, 2)).n_samples == 6


def dense(operator):
    return operator.matrix.toarray() if sp.issparse(operator.matrix) else operator.matrix


@pytest.mark.parametrize("kernel", GRAPH)
def test_any_neighbours_transformer_supplies_the_graph(X, kernel):
    ours = kernel(n_neighbors=10).operator_on(X)
    given = kernel(n_neighbors=10, neighbors=KNeighborsTransformer(n_neighbors=12)).operator_on(X)
    np.testing.assert_allclose(dense(ours), dense(given), atol=1e-9)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kernel", [LaplacianEigenmaps, DiffusionMaps, Isomap])
def test_precomputed_distances_give_the_same_matrix_and_rows(X, kernel, form):
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    new = np.linalg.norm((X[:4] + 0.01)[:, None] - X[None], axis=2)
    if form == "sparse":
        distances, new = sp.csr_array(distances), sp.csr_array(new)
    ours, given = (
        kernel(n_neighbors=10).operator_on(X),
        kernel(n_neighbors=10, neighbors="precomputed").operator_on(distances),
    )
    np.testing.assert_allclose(dense(ours), dense(given), atol=1e-9)
    a, b = ours.extend(X[:4] + 0.01).image(X), given.extend(new).image(X)
    np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize("kernel", MINIMISERS)
def test_kernels_on_points_refuse_distances(kernel):
    with pytest.raises(ValueError, match="needs the points themselves"):
        kernel(neighbors="precomputed").operator_on(np.zeros((20, 20)))


def test_every_graph_kernel_has_a_name():
    assert set(GRAPH) <= set(KERNELS.values())


@pytest.mark.parametrize("kernel", ["laplacian_eigenmaps", "isomap", "lle"])
@pytest.mark.parametrize("estimator", [pf.KernelEmbedding, pf.NonRedundantEmbedding])
def test_warnings_about_graphs_are_at_the_line_of_the_caller(estimator, kernel):
    X = np.random.RandomState(0).standard_normal((60, 2)) + np.repeat([[0.0], [1e3]], 30, axis=0)
    with pytest.warns(GraphWarning) as caught:
        estimator(2, kernel=kernel, random_state=0).fit(X)
    assert {warning.filename for warning in caught} == {__file__}
