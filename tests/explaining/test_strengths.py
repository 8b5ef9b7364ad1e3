import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import ndtri

from polyfold.explaining import _strengths as strengths
from polyfold.explaining._features import relative_ranks
from tests.oracles import explaining as oracle


@pytest.fixture
def rng():
    return np.random.RandomState(0)


def columns(rng, n=80):
    """Numbers of many kinds: continuous, heavy tails, tied, binary, one exception, constant."""
    x = rng.randn(n)
    return np.column_stack([x, np.exp(3 * x), np.round(x), x > 0.5, np.arange(n) == 3, np.ones(n)])


def places_of(column):
    """Return the middles of the bins of a column's normal scores."""
    scores = np.clip(ndtri(relative_ranks(column[:, None])[:, 0]), -strengths.END, strengths.END)
    bins = np.minimum(((scores + strengths.END) / (2 * strengths.END) * strengths.BINS).astype(int), strengths.BINS - 1)
    return ((bins + 0.5) / strengths.BINS - 0.5) * 2 * strengths.END


def test_strengths_of_numbers_are_those_of_literal_leave_one_out_regressions(rng):
    X = columns(rng)
    Y = strengths.centred(np.column_stack([np.sin(2 * X[:, 0]), X[:, 0] + rng.randn(80), rng.randn(80)]))
    found = strengths.number_strengths(X, relative_ranks(X), Y).fraction
    for j in range(5):
        for k in range(3):
            guesses = [oracle.loo_local_line(places_of(X[:, j]), Y[:, k], h) for h in strengths.BANDWIDTHS]
            if j != 4:  # without its exception the column is constant, and has no line
                guesses.append(oracle.loo_straight_line(X[:, j], Y[:, k]))
            best = max(oracle.share(Y[:, k], guess) for guess in guesses)
            np.testing.assert_allclose(found[j, k], np.clip(best, 0, 1), atol=1e-6)
    assert (found[5] == 0).all()


def test_ranks_give_ties_their_mean():
    np.testing.assert_allclose(relative_ranks(np.array([[3.0], [1.0], [1.0], [9.0]]))[:, 0], [0.625, 0.25, 0.25, 0.875])


def test_strengths_of_categories_and_words_are_those_of_literal_group_means(rng):
    codes = np.append(rng.randint(3, size=59), 3)  # the last row is alone
    Y = strengths.centred(np.column_stack([codes == 1, rng.randn(60)]) + 0.3 * rng.randn(60, 2))
    found = strengths.category_strengths(codes[:, None], Y).fraction[0]
    expected = [oracle.share(y, oracle.loo_group_mean(codes, y)) for y in Y.T]
    np.testing.assert_allclose(found, np.clip(expected, 0, 1))
    present = codes == 1
    found = strengths.word_strengths(sp.csr_array(5.0 * present[:, None]), Y).fraction[0]
    expected = [oracle.share(y, oracle.loo_group_mean(present, y)) for y in Y.T]
    np.testing.assert_allclose(found, np.clip(expected, 0, 1))


def test_strength_sees_bends_and_does_not_depend_on_the_scale(rng):
    x = rng.randn(500)
    Y = strengths.centred(np.column_stack([x**2, np.sin(3 * x)]))
    X = np.column_stack([x, 1e6 * x + 5])
    found = strengths.number_strengths(X, relative_ranks(X), Y)
    assert (found.fraction > 0.95).all()
    assert (found.monotone < 0.75).all()
    np.testing.assert_allclose(found.fraction[0], found.fraction[1], atol=1e-9)


def test_shape_and_sign_of_a_trend(rng):
    x = rng.randn(500)[:, None]
    Y = strengths.centred(np.hstack([np.tanh(x), -x + rng.randn(500, 1)]))
    found = strengths.number_strengths(x, relative_ranks(x), Y)
    assert found.sign.tolist() == [[1, -1]]
    assert (found.monotone > 0.75).all()


def test_independent_features_stay_below_the_null(rng):
    above = 0
    for _ in range(40):
        Y = strengths.with_permutations(strengths.centred(rng.randn(100, 1)), rng)
        X = rng.randn(100, 10)
        share = strengths.number_strengths(X, relative_ranks(X), Y).fraction
        above += bool((share[:, 0] > strengths.null_of(share, 1)).any())
    assert above <= 6  # 2 are expected; 7 or more have a probability below 1 %


def test_every_target_is_permuted_and_few_targets_are_permuted_19_times(rng):
    assert strengths.with_permutations(rng.randn(10, 2), rng).shape == (10, 21)
    many = strengths.with_permutations(rng.randn(10, 30), rng)
    assert many.shape == (10, 60)
    np.testing.assert_allclose(np.sort(many[:, :30], axis=0), np.sort(many[:, 30:], axis=0))
