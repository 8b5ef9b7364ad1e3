import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from polyfold.clustering import _tree, fit_tree

SEEDS = np.random.SeedSequence(0)


def test_merges_in_all_coordinates_are_those_of_ward_in_scipy():
    """With one row per small cluster and a number asked for, merges down to it are plain Ward on unit rows."""
    Z = np.random.default_rng(0).standard_normal((60, 5))
    U = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    tree = fit_tree(Z, 5, seeds=SEEDS)
    labels = tree.cut(5)[tree.assign(Z)]
    assert adjusted_rand_score(labels, fcluster(linkage(U, "ward"), 5, "maxclust")) == 1.0


def test_copies_count_like_rows():
    """Ward on weighted places equals Ward on all copies."""
    rng = np.random.default_rng(1)
    places = rng.standard_normal((30, 4))
    Z = np.repeat(places, rng.integers(1, 6, 30), axis=0)
    U = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    tree = fit_tree(Z, 4, seeds=SEEDS)
    assert tree.n_small == 30
    assert tree.sizes.sum() == len(Z)
    assert adjusted_rand_score(tree.cut(4)[tree.assign(Z)], fcluster(linkage(U, "ward"), 4, "maxclust")) == 1.0


def test_clusters_are_nested_and_numbered_by_size():
    Z = np.random.default_rng(2).standard_normal((300, 12))
    tree = fit_tree(Z, None, seeds=SEEDS)
    leaves = tree.assign(Z)
    finer = None
    for count in (200, 64, 63, 20, 7, 2, 1):
        labels = tree.cut(count)[leaves]
        sizes = np.bincount(labels)
        assert len(sizes) == count
        assert (np.diff(sizes) <= 0).all()
        if finer is not None:
            assert len({(int(a), int(b)) for a, b in zip(finer, labels, strict=True)}) == len(set(finer))
        finer = labels


def test_every_merge_joins_two_clusters_that_exist():
    tree = fit_tree(np.random.default_rng(3).standard_normal((90, 6)), None, seeds=SEEDS)
    used = tree.merges.ravel()
    assert sorted(used) == list(range(2 * tree.n_small - 2))
    assert (tree.merges.max(axis=1) < tree.n_small + np.arange(tree.n_small - 1)).all()
    assert tree.members()[-1] @ tree.sizes == 90


def test_two_groups_need_two_coordinates_however_many_there_are():
    """Noise in later coordinates does not mix up the groups that the first ones separate."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    Z = np.column_stack([np.ones(200), np.where(y, 1.0, -1.0), 2 * rng.standard_normal((200, 30))])
    tree = fit_tree(Z, 2, seeds=SEEDS)
    assert adjusted_rand_score(y, tree.cut(2)[tree.assign(Z)]) == 1.0


def test_many_rows_join_the_nearest_of_the_small_clusters(monkeypatch):
    monkeypatch.setattr(_tree, "SMALL_CLUSTERS", 20)
    monkeypatch.setattr(_tree, "ROWS_PER_SMALL_CLUSTER", 10)
    X, y = make_blobs(3000, n_features=4, centers=5, center_box=(-50, 50), random_state=0)
    tree = fit_tree(X, 5, seeds=SEEDS)
    assert tree.n_small == 20 + 5
    assert tree.sizes.sum() == 3000
    assert adjusted_rand_score(y, tree.cut(5)[tree.assign(X)]) > 0.99


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_rows_have_a_tree(n):
    tree = fit_tree(np.eye(3)[:n], None, seeds=SEEDS)
    assert tree.n_small == n
    assert len(tree.merges) == n - 1
    assert set(tree.cut(1)) == {0}
