import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import polyfold as pf
from polyfold.kernels import Gaussian, Isomap, LaplacianEigenmaps


@pytest.fixture
def classes():
    return np.repeat(["a", "b", "c"], 30)


@pytest.fixture
def modules():
    return pf.ModularKernelPCA(5, 2, diversity=0.8, random_state=0)


def test_hard_vote_is_the_mode_of_the_modules(modules, blobs, classes):
    noisy = classes.copy()
    noisy[::4] = "a"
    model = pf.ModularClassifier(modules).fit(blobs, noisy)
    Z = model.representation_.transform_modules(blobs)
    votes = np.array([KNeighborsClassifier(5).fit(z, noisy).predict(z) for z in Z])
    for vote, predicted in zip(votes.T, model.predict(blobs), strict=True):
        names, counts = np.unique(vote, return_counts=True)
        assert predicted in names[counts == counts.max()]


def test_soft_vote_is_the_mean_probability(modules, blobs, classes):
    model = pf.ModularClassifier(modules, LogisticRegression(), voting="soft").fit(blobs, classes)
    Z = model.representation_.transform_modules(blobs)
    expected = np.mean([LogisticRegression().fit(z, classes).predict_proba(z) for z in Z], axis=0)
    np.testing.assert_allclose(model.predict_proba(blobs), expected, atol=1e-6)


def test_shares_of_votes_are_probabilities(modules, blobs, classes):
    shares = pf.ModularClassifier(modules).fit(blobs, classes).predict_proba(blobs)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_hard_vote_without_probabilities(modules, blobs, classes):
    model = pf.ModularClassifier(modules, RidgeClassifier()).fit(blobs, classes)
    assert model.score(blobs, classes) > 0.9
    with pytest.raises(ValueError, match="estimator must have predict_proba with voting='soft', got RidgeClassifier"):
        pf.ModularClassifier(modules, RidgeClassifier(), voting="soft").fit(blobs, classes)


def test_scores_of_single_modules(modules, blobs, classes):
    model = pf.ModularClassifier(modules, n_jobs=2).fit(blobs, classes)
    scores = model.module_scores(blobs, classes)
    assert scores.shape == (5,)
    assert scores.max() <= 1
    single = KNeighborsClassifier(5).fit(model.representation_.transform_modules(blobs)[2], classes)
    assert scores[2] == single.score(model.representation_.transform_modules(blobs)[2], classes)


def test_frozen_representation_is_kept(modules, blobs, classes):
    fitted = modules.fit(blobs)
    model = pf.ModularClassifier(FrozenEstimator(fitted)).fit(blobs[:60], classes[:60])
    np.testing.assert_array_equal(model.representation_.transform(blobs), fitted.transform(blobs))


def test_unknown_voting_is_told(modules, blobs, classes):
    with pytest.raises(ValueError, match="voting must be one of 'hard', 'soft', got 'loud'"):
        pf.ModularClassifier(modules, voting="loud").fit(blobs, classes)


FOLDS = KFold(3, shuffle=True, random_state=0)


def test_cross_validation_of_a_precomputed_kernel_is_that_of_the_kernel(blobs, classes):
    K = np.exp(-0.1 * ((blobs[:, None] - blobs) ** 2).sum(axis=2))

    def scores(X, kernel):
        modules = pf.ModularKernelPCA(5, 2, kernel=kernel, diversity=0.8, random_state=0)
        return cross_val_score(pf.ModularClassifier(modules), X, classes, cv=FOLDS, error_score="raise")

    np.testing.assert_array_equal(scores(K, "precomputed"), scores(blobs, Gaussian(gamma=0.1)))


@pytest.mark.parametrize("kernel", [LaplacianEigenmaps, Isomap])
def test_cross_validation_on_distances_is_that_on_points(kernel, rng):
    X, y = rng.standard_normal((90, 3)), np.repeat(["a", "b", "c"], 30)
    X[y == "b", 0] += 1.5
    X[y == "c", 1] += 1.5
    distances = np.linalg.norm(X[:, None] - X, axis=2)

    def scores(X, neighbors):
        embedding = pf.KernelEmbedding(2, kernel=kernel(8, neighbors=neighbors))
        model = make_pipeline(embedding, KNeighborsClassifier(3))
        return cross_val_score(model, X, y, cv=FOLDS, error_score="raise")

    np.testing.assert_array_equal(scores(distances, "precomputed"), scores(X, "exact"))
