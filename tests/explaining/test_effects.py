import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from polyfold.explaining._effects import auc_of, bootstrap_weights, class_tfidf, group_effects
from polyfold.explaining._features import relative_ranks
from polyfold.explaining._prototypes import rows_along, typical_rows
from tests.oracles import explaining as oracle


@pytest.fixture
def rng():
    return np.random.RandomState(0)


def masks(labels):
    return np.array([labels == value for value in np.unique(labels)])


def test_effects_are_standardised_mean_differences_with_the_auc(rng):
    labels = rng.randint(3, size=90)
    X = rng.randn(90, 4) + labels[:, None] * [0, 1, -2, 0.5]
    X[:, 3] = np.round(X[:, 3])
    found = group_effects(X, masks(labels), bootstrap_weights(90, rng))
    for c in range(3):
        inside, outside = X[labels == c], X[labels != c]
        spread = np.sqrt((inside.var(axis=0) + outside.var(axis=0)) / 2)
        np.testing.assert_allclose(found.effect[c], (inside.mean(axis=0) - outside.mean(axis=0)) / spread)
        np.testing.assert_allclose(auc_of(relative_ranks(X), labels == c), [roc_auc_score(labels == c, x) for x in X.T])
        np.testing.assert_allclose(found.inside[c], inside.mean(axis=0))
    assert (found.low <= found.effect).all()
    assert (found.effect <= found.high).all()


@pytest.mark.parametrize("n", [10, 90, 1000])
def test_the_auc_of_perfect_separation_is_exactly_one(n):
    ranks = relative_ranks(np.arange(n, dtype=float)[:, None])
    for m in range(1, n, 7):
        inside = np.arange(n) >= n - m
        assert auc_of(ranks, inside) == 1
        assert auc_of(ranks, ~inside) == 0


def test_intervals_cover_the_true_effect(rng):
    covered = []
    for _ in range(60):
        labels = rng.randint(2, size=200)
        found = group_effects(rng.randn(200, 5) + labels[:, None], masks(labels), bootstrap_weights(200, rng))
        covered.append((found.low[1] < 1) & (found.high[1] > 1))
    assert 0.9 < np.mean(covered) < 0.99


def test_a_perfect_feature_has_a_finite_effect(rng):
    labels = np.repeat([0, 1], 20)
    found = group_effects(labels[:, None].astype(float), masks(labels), bootstrap_weights(40, rng))
    np.testing.assert_allclose(found.effect[:, 0], [-20, 20])
    assert found.certain().min() > 10


def test_words_are_scored_by_class_tfidf(rng):
    labels, counts = rng.randint(3, size=50), rng.poisson(0.7, size=(50, 8))
    found = class_tfidf(sp.csr_array(counts), masks(labels))
    np.testing.assert_allclose(found, oracle.class_tfidf(counts, labels))


def test_rows_along_an_axis_step_along_it_and_stay_in_the_middle_of_the_others(rng):
    Z = rng.uniform(size=(2000, 3)) * [1, 10, 100]
    rows = rows_along(Z, 1)
    np.testing.assert_allclose(Z[rows, 1], np.linspace(0, 10, 7), atol=1.5)
    assert np.abs(Z[rows, 0] - 0.5).max() < 0.15
    assert np.abs(Z[rows, 2] - 50).max() < 15
    assert len(rows_along(np.arange(4.0)[:, None], 0)) == 4


def test_typical_rows_are_central_and_borderline_rows_near_the_other_group(rng):
    labels = np.repeat([0, 1], 50)
    x = np.r_[np.linspace(-2, 0.9, 50), np.linspace(1.1, 4, 50)]
    for space in (x[:, None], sp.csr_array(x[:, None])):
        first, second = typical_rows(space, masks(labels), 3)
        assert set(first["borderline"]) == {47, 48, 49}
        assert set(second["borderline"]) == {50, 51, 52}
        assert np.abs(x[first["typical"]] - x[:50].mean()).max() < 0.2
