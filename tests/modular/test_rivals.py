import numpy as np

from polyfold.modular import bagged_autoencoders, bootstrap_maps, partition_maps, random_maps


def test_partition_uses_every_direction_once(rng):
    W = partition_maps(12, 3, 4, rng)
    np.testing.assert_array_equal(W.sum(axis=(0, 1)), np.ones(12))
    np.testing.assert_array_equal(W.sum(axis=2), np.ones((3, 4)))


def test_partition_of_too_few_directions_leaves_zeros(rng):
    assert partition_maps(5, 3, 4, rng).sum() == 5


def test_random_directions_have_unit_length(rng):
    np.testing.assert_allclose(np.linalg.norm(random_maps(10, 3, 4, rng), axis=2), 1)


def test_bootstrap_is_kernel_pca_of_the_resampled_points(rng):
    C = rng.standard_normal((50, 6)) * [5, 4, 3, 2, 1, 0.5]
    W, offsets = bootstrap_maps(C, 2, 3, np.random.RandomState(7))
    replay = np.random.RandomState(7)
    for m in range(2):
        counts = replay.multinomial(50, np.full(50, 1 / 50))
        sample = np.repeat(C, counts, axis=0)
        Z = sample @ W[m].T + offsets[m]
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
        top = np.linalg.svd(sample - sample.mean(axis=0), compute_uv=False)[:3]
        np.testing.assert_allclose(np.linalg.norm(Z, axis=0), top)


def test_bagging_takes_the_directions_of_every_sample(rng):
    X = rng.standard_normal((50, 6)) * [5, 4, 3, 2, 1, 0.5] + 10
    encoders, means, fewest = bagged_autoencoders(X, 2, 3, np.random.RandomState(7))
    replay = np.random.RandomState(7)
    for m in range(2):
        sample = X[np.sort(replay.randint(50, size=50))]
        _, _, Vt = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)
        np.testing.assert_allclose(np.abs(encoders[m] @ Vt[:3].T), np.eye(3), atol=1e-8)
        np.testing.assert_allclose(means[m], sample.mean(axis=0))
    assert fewest == 6


def test_bagging_of_too_few_directions_leaves_zeros_and_says_so(rng):
    X = np.outer(rng.standard_normal(30), [1.0, 2.0, 3.0])
    encoders, _, fewest = bagged_autoencoders(X, 2, 2, rng)
    assert fewest == 1
    np.testing.assert_array_equal(encoders[:, 1], 0)
