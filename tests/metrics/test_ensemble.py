"""Errors of modules alone and together."""

import numpy as np
import pytest

from polyfold.metrics import ensemble_errors, majority_vote


def test_vote_is_the_mode_and_ties_go_to_the_smallest():
    assert majority_vote([["b", "a"], ["b", "c"], ["a", "b"]]).tolist() == ["b", "a"]


def test_vote_agrees_with_counting():
    predictions = np.random.default_rng(0).integers(0, 4, (7, 50))
    expected = [np.bincount(column, minlength=4).argmax() for column in predictions.T]
    assert majority_vote(predictions).tolist() == expected


def test_modules_that_err_differently_are_right_together():
    y = np.zeros(9, dtype=int)
    predictions = np.repeat(np.eye(3, dtype=int), 3, axis=1)
    errors = ensemble_errors(predictions, y)
    assert errors.individual == pytest.approx(1 / 3)
    assert errors.ensemble == 0


def test_probabilities_are_averaged():
    probabilities = np.array([[[0.9, 0.1]], [[0.45, 0.55]]])
    errors = ensemble_errors(probabilities, [0])
    assert (errors.individual, errors.ensemble) == (0.5, 0.0)


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"predictions must have shape \(n_modules, 3\).*got \(2, 4\)"):
        ensemble_errors(np.zeros((2, 4)), [0, 1, 2])
