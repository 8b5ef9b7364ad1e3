import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

from polyfold.exceptions import GraphWarning
from polyfold.neighbors import _recall as module
from polyfold.neighbors import find_neighbors
from polyfold.neighbors._recall import reported_recall, sampled_recall


@pytest.fixture
def X(rng):  # noqa: N802
    return rng.standard_normal((700, 6)).astype(np.float32)


def test_the_recall_is_the_share_of_true_neighbours(X, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 700)
    monkeypatch.setattr(module, "block_rows", lambda width: 90)
    near = find_neighbors(X, 12)
    assert sampled_recall(X, near.distances[:, :8]) == 1
    # The 4 nearest and 4 that are too far: half of the true 8.
    wrong = np.hstack([near.distances[:, :4], near.distances[:, 8:]])
    for rows in (X, sp.csr_array(X)):
        assert sampled_recall(rows, wrong) == pytest.approx(0.5, abs=1e-3)  # but for neighbours equally far


def test_copies_are_as_good_as_one_another(X):
    X = np.repeat(X[:100], 7, axis=0)
    assert sampled_recall(X, find_neighbors(X, 3).distances) == 1


def test_a_low_recall_is_warned_of(X):
    with pytest.warns(GraphWarning, match="'faiss' found 0% of the true neighbours of 200 rows, fewer than 90%"):
        assert reported_recall("faiss", X, np.full((700, 5), 1e9)) == 0


def test_who_searches_says_what_was_found(X):
    assert find_neighbors(X, 5).recall == 1
    assert np.isnan(find_neighbors(X, 5, engine=KNeighborsTransformer(n_neighbors=5)).recall)
    pytest.importorskip("faiss")
    assert 0.9 < find_neighbors(X, 5, engine="faiss").recall <= 1
