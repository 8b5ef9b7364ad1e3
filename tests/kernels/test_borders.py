"""Borders of kernels: rounding limits, defaults of operators, and neighbourhoods that are given."""

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

from polyfold.kernels import DiffusionMaps, HessianLLE, Isomap, KernelColumns, LaplacianEigenmaps, Linear, LocallyLinear
from polyfold.kernels._operator import match_training


@pytest.mark.parametrize(("size", "rank"), [(3.5, 1), (5.0, 2)])
def test_directions_below_four_roundings_of_single_precision_are_dropped(size, rank):
    small = np.sqrt(size * np.finfo(np.float32).eps)
    landmarks = np.diag([1.0, small]).astype(np.float32)
    A = KernelColumns(Linear().resolve(landmarks), landmarks).metric()
    assert np.linalg.matrix_rank(A, tol=1e-12) == rank


def test_variances_of_graph_kernels_have_no_units_except_those_of_isomap():
    X = np.random.RandomState(0).rand(60, 2)
    kernels = [LaplacianEigenmaps(8), DiffusionMaps(8), LocallyLinear(8), HessianLLE(8), Isomap(8)]
    assert [kernel.operator_on(X).has_units for kernel in kernels] == [False, False, False, False, True]


def test_duplicate_rows_keep_the_edges_of_a_given_graph():
    X = np.random.RandomState(0).rand(40, 2)
    X[1] = X[0]
    graph = kneighbors_graph(X, 6, mode="distance")
    operator = LaplacianEigenmaps(6, neighbors=graph).operator_on(X)
    assert operator.row_points is None
    assert operator.n_samples == 40


def test_rows_match_a_training_point_up_to_the_rounding_of_their_neighbourhood():
    # The second neighbour is a near duplicate: it says nothing about the size of the numbers.
    distances = np.array([[1e-8, 2e-8, 1.0], [1e-5, 2e-5, 1.0]])
    assert match_training(distances, np.array([[4, 5, 6], [7, 8, 9]])).tolist() == [4, -1]
