import numpy as np
import pytest
from sklearn.model_selection import KFold

import polyfold as pf
from polyfold.estimators import ModularKernelPCA
from polyfold.kernels import Gaussian, Isomap


@pytest.fixture
def modules():
    return pf.ModularKernelPCA(4, 2, random_state=0)


def test_one_spectrum_per_fold_whatever_the_grid(modules, blobs, monkeypatch):
    fits = []
    fit = ModularKernelPCA.fit
    monkeypatch.setattr(ModularKernelPCA, "fit", lambda self, X, y=None: fits.append(len(X)) or fit(self, X, y))
    selection = pf.select_diversity(modules, blobs, grid=[0.0, 0.5, 0.9, 0.99], cv=3)
    assert fits == [60, 60, 60]
    assert selection.scores.shape == (4, 3)
    assert selection.mean.shape == selection.std.shape == (4,)
    assert selection.best_diversity == selection.grid[np.argmax(selection.mean)]


def test_diverse_modules_retrieve_better(modules, rng):
    X = rng.standard_normal((150, 8)) * 0.8 ** np.arange(8)
    selection = pf.select_diversity(modules, X, grid=[0.0, 0.99], cv=2)
    assert selection.best_diversity == 0.99


def test_labels_mean_accuracy(modules, blobs):
    y = np.repeat([0, 1, 2], 30)
    selection = pf.select_diversity(modules, blobs, y, grid=[0.5], cv=KFold(3, shuffle=True, random_state=0))
    assert selection.mean[0] > 0.9


def test_own_scoring_sees_fitted_models_and_both_parts(modules, blobs):
    def score(model, X_train, X_test, y_train, y_test):
        assert (len(X_train), len(X_test), y_train, y_test) == (45, 45, None, None)
        return -model.loss_

    selection = pf.select_diversity(modules, blobs, grid=[0.0, 0.9], cv=2, scoring=score)
    assert selection.best_diversity == 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scoring": "accuracy"}, "scoring='accuracy' needs y, got None"),
        ({"scoring": "speed"}, "scoring must be one of 'retrieval', 'accuracy' or a callable, got 'speed'"),
        ({"grid": []}, "grid must hold at least one diversity, got none"),
        ({"grid": [2.0]}, "diversity must be a number >= 0 and <= 1, got 2.0"),
    ],
)
def test_bad_arguments_are_named(arguments, message, modules, blobs):
    with pytest.raises(ValueError, match=message):
        pf.select_diversity(modules, blobs, **arguments)


@pytest.mark.parametrize("labels", [None, np.repeat([0, 1, 2], 30)])
def test_precomputed_kernels_score_as_the_kernel_does(labels, blobs):
    K = np.exp(-0.1 * ((blobs[:, None] - blobs) ** 2).sum(axis=2))
    cv = KFold(3, shuffle=True, random_state=0)

    def scores(X, kernel):
        modules = pf.ModularKernelPCA(4, 2, kernel=kernel, random_state=0)
        return pf.select_diversity(modules, X, labels, grid=[0.0, 0.9], cv=cv).scores

    np.testing.assert_allclose(scores(K, "precomputed"), scores(blobs, Gaussian(gamma=0.1)))


def test_precomputed_distances_score_as_the_points_do(rng):
    X = rng.standard_normal((90, 3))
    distances = np.linalg.norm(X[:, None] - X, axis=2)

    def scores(X, neighbors):
        modules = pf.ModularKernelPCA(2, 2, kernel=Isomap(8, neighbors=neighbors), random_state=0)
        return pf.select_diversity(modules, X, grid=[0.9], cv=3).scores

    np.testing.assert_allclose(scores(distances, "precomputed"), scores(X, "exact"))
