"""Lists of candidates: which training rows are compared with a row."""

import numpy as np
import pytest
import scipy.sparse as sp

from polyfold.bootstrap import make_first_layer
from tests.bootstrap.test_searches import make, search_of, some_specs


def test_rows_with_fewer_neighbours_than_others_have_no_further_candidates():
    X = make(np.random.default_rng(0), 30, 6, np.float64)
    # Row i has i % 3 + 1 neighbours, and none of them is row 0.
    pairs = [(i, 1 + (i + step) % 29) for i in range(30) for step in range(i % 3 + 1)]
    graph = sp.csr_array((np.arange(1.0, len(pairs) + 1), tuple(zip(*pairs, strict=True))), shape=(30, 30))
    search = search_of(X, some_specs(2, 30, 9, 6), neighbors=graph)
    lists = search.prepare(X).lists
    for i, row in enumerate(lists):
        given = {j for k, j in pairs if k == i}
        assert set(row[row >= 0]) == given | {i}
        assert (row < 0).sum() == lists.shape[1] - 1 - len(given - {i})


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_candidates_by_the_cosine_do_not_depend_on_lengths(metric):
    X = make(np.random.default_rng(0), 120, 8, np.float64)
    longer = X * np.random.default_rng(1).uniform(1, 100, (120, 1))
    lists = [
        np.sort(search_of(rows, some_specs(2, 120, 20, 8), metric, neighbors=5).prepare(rows).lists, axis=1)
        for rows in (X, longer)
    ]
    assert np.array_equal(*lists) == (metric == "cosine")


@pytest.mark.parametrize(
    ("metric", "make_rows", "few", "many"),
    [
        ("euclidean", np.asarray, "DenseSearch", "CandidateSearch"),
        ("linear", np.asarray, "DenseSearch", "DenseSearch"),
        ("euclidean", sp.csr_array, "SparseSearch", "SparseSearch"),
    ],
)
def test_large_dense_data_are_searched_by_candidates(metric, make_rows, few, many):
    rows = make_rows(np.random.default_rng(0).random((2000, 4)))
    options = {"metric": metric, "neighbors": "auto", "seeds": np.random.SeedSequence(0)}
    # 50 million pairs of rows and centres are compared exactly.
    found = [type(make_first_layer(rows, n_centers=count, **options)).__name__ for count in (25_000, 25_001)]
    assert found == [few, many]
