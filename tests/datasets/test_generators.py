"""Generators: the recipes' laws, seeds, and refusals."""

import numpy as np
import pytest
from scipy import ndimage

from polyfold import datasets
from polyfold.datasets._shapes import is_convex


@pytest.fixture
def digits():
    rng = np.random.default_rng(0)
    images = np.zeros((40, 28, 28), dtype=np.uint8)
    images[:, 8:20, 11:15] = rng.integers(100, 255, (40, 12, 4))
    return images.reshape(40, -1)


GENERATORS = {
    "rotations": lambda X, seed: datasets.make_rotations(X, random_state=seed),
    "random_background": lambda X, seed: datasets.make_random_background(X, random_state=seed),
    "image_background": lambda X, seed: datasets.make_image_background(X, random_state=seed),
    "convex": lambda X, seed: datasets.make_convex(len(X), random_state=seed)[0],
    "rectangles": lambda X, seed: datasets.make_rectangles(len(X), random_state=seed)[0],
    "strip": lambda X, seed: datasets.make_strip(len(X), noise=0.1, random_state=seed)[0],
    "ring": lambda X, seed: datasets.make_ring(len(X), random_state=seed)[0],
    "swiss_roll": lambda X, seed: datasets.make_swiss_roll(len(X), random_state=seed)[0],
    "gaussian_mixture": lambda X, seed: datasets.make_gaussian_mixture(len(X), random_state=seed)[0],
}


@pytest.mark.parametrize("name", GENERATORS)
def test_same_seed_same_data(name, digits):
    make = GENERATORS[name]
    first, again, other = make(digits, 3), make(digits, 3), make(digits, 4)
    assert len(first) == len(digits)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rotation_agrees_with_scipy(digits):
    angles = np.random.RandomState(0).uniform(0, 2 * np.pi, len(digits))
    rotated = datasets.make_rotations(digits.astype(float), random_state=0).reshape(-1, 28, 28)
    for image, angle, ours in zip(digits.reshape(-1, 28, 28)[:5], angles, rotated, strict=False):
        scipys = ndimage.rotate(image.astype(float), -np.degrees(angle), reshape=False, order=1)
        np.testing.assert_allclose(ours, scipys, atol=0.01)


def test_rotation_does_not_smear_the_edge_outward():
    white = np.full((1, 28 * 28), 255, dtype=np.uint8)
    corners = datasets.make_rotations(np.repeat(white, 50, axis=0), random_state=0).reshape(-1, 28, 28)[:, 0, 0]
    assert (corners == 0).mean() > 0.7


def test_rotation_of_images_that_are_not_square():
    X = np.zeros((2, 6))
    assert datasets.make_rotations(X, image_shape=(2, 3), random_state=0).shape == (2, 6)
    with pytest.raises(ValueError, match=r"image_shape must multiply to n_features=6, got \(2, 2\)"):
        datasets.make_rotations(X)


def test_random_background_is_uniform_and_keeps_the_digit(digits):
    noisy = datasets.make_random_background(digits, random_state=0)
    assert np.all(noisy >= digits)
    background = noisy[digits == 0]
    assert abs(background.mean() - 127.5) < 2
    assert (background.min(), background.max()) == (0, 255)


def test_photograph_patches_are_cut_out_whole(digits):
    photograph = np.arange(60 * 50).reshape(60, 50) % 251
    pictures = datasets.make_image_background(np.zeros_like(digits), photographs=[photograph], random_state=0)
    windows = np.lib.stride_tricks.sliding_window_view(photograph, (28, 28)).reshape(-1, 784)
    assert all((windows == picture).all(axis=1).any() for picture in pictures)


def test_flat_patches_are_not_used(digits):
    half_flat = np.zeros((28, 400))
    half_flat[:, 200:] = np.random.default_rng(0).integers(0, 255, (28, 200))
    pictures = datasets.make_image_background(np.zeros_like(digits), photographs=[half_flat], random_state=0)
    assert pictures.std(axis=1).min() >= 10
    with pytest.raises(ValueError, match="min_deviation must leave textured patches"):
        datasets.make_image_background(digits, photographs=[np.zeros((40, 40))], random_state=0)


def literal_convexity(mask):
    pixels = np.argwhere(mask)
    middles = pixels[:, None] + pixels[None]
    whole = (middles % 2 == 0).all(axis=2)
    rows, columns = (middles[whole] // 2).T
    return bool(mask[rows, columns].all())


def test_convexity_is_that_of_every_pair_of_pixels():
    X, _ = datasets.make_convex(60, side=16, random_state=1)
    masks = X.reshape(-1, 16, 16) > 0
    assert is_convex(masks).tolist() == [literal_convexity(mask) for mask in masks]


def test_labels_tell_convex_from_other_regions():
    X, y = datasets.make_convex(400, random_state=0)
    assert np.array_equal(is_convex(X.reshape(-1, 28, 28) > 0), y == 1)
    assert set(np.unique(X)) == {0, 255}
    assert y.mean() == 0.5
    assert (X > 0).sum(axis=1).min() >= 10


def test_convex_classes_have_similar_brightness():
    X, y = datasets.make_convex(1500, random_state=0)
    assert 0.8 < X[y == 0].mean() / X[y == 1].mean() < 1.25


def test_rectangles_follow_the_published_law():
    X, y = datasets.make_rectangles(3000, random_state=0)
    masks = X.reshape(-1, 28, 28) > 0
    height, width = masks.any(axis=2).sum(axis=1), masks.any(axis=1).sum(axis=1)
    assert np.array_equal(height > width, y == 1)
    assert abs(height - width).min() == 3
    assert (height.min(), height.max()) == (4, 28)
    assert np.array_equal(masks.sum(axis=(1, 2)), 2 * (height + width) - 4)
    assert abs(y.mean() - 0.5) < 0.05


def test_strip_has_its_ratio():
    X, coordinates = datasets.make_strip(2000, ratio=3.5, random_state=0)
    np.testing.assert_array_equal(X, coordinates)
    np.testing.assert_allclose(np.ptp(X, axis=0), [3.5, 1.0], rtol=0.01)


def test_ring_lies_on_its_surface_uniformly():
    X, angles = datasets.make_ring(4000, radius=2.0, tube=1.0, random_state=0)
    across = np.hypot(X[:, 0], X[:, 1]) - 2.0
    np.testing.assert_allclose(np.hypot(across, X[:, 2]), 1.0)
    # By area, the share of the outer half is 1/2 + tube / (π radius).
    assert abs((np.cos(angles[:, 1]) > 0).mean() - (0.5 + 0.5 / np.pi)) < 0.03


def test_roll_is_isometric_to_its_strip():
    X, coordinates = datasets.make_swiss_roll(3000, random_state=0)
    near = np.argsort(coordinates[:, 0])
    steps = np.linalg.norm(np.diff(X[near][:, [0, 2]], axis=0), axis=1)
    np.testing.assert_allclose(steps, np.diff(coordinates[near, 0]), rtol=1e-3, atol=1e-5)
    counts = np.histogram(coordinates[:, 0], bins=5)[0]
    assert counts.min() > 0.85 * counts.max()


def test_noise_moves_points_by_its_size():
    clean, _ = datasets.make_swiss_roll(500, random_state=0)
    noisy, _ = datasets.make_swiss_roll(500, noise=0.1, random_state=0)
    assert abs((noisy - clean).std() - 0.1) < 0.01


def test_mixture_has_the_stated_spread_and_weights():
    X, y = datasets.make_gaussian_mixture(4000, n_features=4, n_clusters=5, random_state=0)
    within = [X[y == k] - X[y == k].mean(axis=0) for k in range(5)]
    assert abs(np.concatenate(within).std() - 0.25) < 0.01
    assert np.bincount(y).min() > 700


def test_mixture_takes_given_centers():
    centers = np.array([[0.0, 5.0], [5.0, 0.0]])
    X, y = datasets.make_gaussian_mixture(200, centers=centers, std=0.0, random_state=0)
    np.testing.assert_array_equal(X, centers[y])


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (datasets.make_convex, {"n_samples": 0}, "n_samples must be an integer >= 1"),
        (datasets.make_rectangles, {"side": 5}, "side must be an integer >= 8"),
        (datasets.make_strip, {"ratio": 0.0}, "ratio must be a number > 0"),
        (datasets.make_ring, {"tube": 2.0}, "tube must be a number > 0 and <= 1"),
        (datasets.make_swiss_roll, {"noise": -1.0}, "noise must be a number >= 0"),
        (datasets.make_gaussian_mixture, {"std": np.nan}, "std must be a number >= 0"),
    ],
)
def test_bad_parameters_are_named(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)
