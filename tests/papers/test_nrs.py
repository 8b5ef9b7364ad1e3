"""What the experiments of the non-redundant paper compute besides the library."""

import numpy as np
import pytest

from papers.nrs.digits import coordinates, singular_values, svm_error
from papers.nrs.embeddings import read_off
from papers.nrs.pictures import SIDE, cut, overlaid, patch_features


def test_singular_values_are_those_of_the_whole_smoother(data):
    shape = {"most": 3, "rows": 120, "seed": 0}
    found = singular_values(data, alpha=0.3, landmarks=120, **shape)
    f = coordinates(data, "plain", "self-tuned, 10", 0.6, 3, 120, 0)[0][:, 0].astype(float)
    G = np.exp(-((f[:, None] - f) ** 2) / (2 * 0.3**2 * np.mean(f**2)))
    exact = np.linalg.svd(G / G.sum(axis=1, keepdims=True), compute_uv=False)
    assert found["values"][:8] == pytest.approx(exact[:8], rel=1e-6)
    assert found["norm share"] == pytest.approx(100 * exact[0] / np.linalg.norm(exact), rel=1e-6)


def test_the_support_vector_machine_sees_classes_and_nothing_else():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    Z = np.eye(3)[y] + 0.05 * rng.standard_normal((300, 3))
    assert svm_error(Z, y, 0, None) == 0.0
    assert svm_error(Z, y, 0, 30) < 5.0
    assert svm_error(rng.standard_normal((300, 3)), y, 0, None) > 40.0


def test_patches_laid_over_one_another_are_the_picture():
    picture, corners, X = cut("flower.jpg", 16)
    whole, seen = overlaid(picture.shape, corners, X)
    assert whole[seen] == pytest.approx(picture[seen])
    assert seen.mean() > 0.8


def test_features_of_patches_are_brightness_and_both_slopes():
    across = np.tile(np.linspace(0, 1, SIDE), (SIDE, 1))
    flat = np.full((SIDE, SIDE), 0.5)
    brightness, vertical, horizontal = patch_features(np.array([across.ravel(), across.T.ravel(), flat.ravel()]))
    assert brightness == pytest.approx([0.5, 0.5, 0.5])
    assert vertical[0] > 1
    assert vertical[1:] == pytest.approx([0.0, 0.0])
    assert horizontal[1] > 1
    assert horizontal[[0, 2]] == pytest.approx([0.0, 0.0])


def test_a_direction_is_read_off_its_function_and_not_off_noise():
    rng = np.random.default_rng(0)
    t = rng.uniform(size=400)
    assert read_off(np.column_stack([t**3, np.zeros(400)]), t) > 0.95
    assert read_off(rng.standard_normal((400, 2)), t) < 0.1
