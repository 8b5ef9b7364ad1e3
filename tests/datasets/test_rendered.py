import numpy as np
import pytest

from polyfold.datasets import make_rendered_object


def test_images_lie_between_black_and_white_and_repeat_with_the_seed():
    X, factors = make_rendered_object(20, size=16, random_state=0)
    assert X.shape == (20, 256)
    assert X.min() == 0
    assert 0.5 < X.max() <= 1
    assert (np.abs(factors) <= [60, 30, 45]).all()
    again, _ = make_rendered_object(20, size=16, random_state=0)
    np.testing.assert_array_equal(X, again)


def test_a_light_from_the_right_brightens_the_right_half():
    X, factors = make_rendered_object(60, size=16, pan=0, tilt=0, random_state=0)
    images = X.reshape(-1, 16, 16)
    sides = images[:, :, 8:].sum(axis=(1, 2)) - images[:, :, :8].sum(axis=(1, 2))
    assert np.corrcoef(sides, factors[:, 2])[0, 1] > 0.95


def test_every_factor_changes_the_image_smoothly():
    for name, k in (("pan", 0), ("tilt", 1), ("light", 2)):
        fixed = {other: 0.0 for other in ("pan", "tilt", "light") if other != name}
        X, factors = make_rendered_object(80, size=16, **fixed, random_state=0)
        X = X[np.argsort(factors[:, k])]
        steps, span = np.linalg.norm(np.diff(X, axis=0), axis=1), np.linalg.norm(X[0] - X[-1])
        assert span > 1
        assert steps.max() < 0.6 * span


def test_a_symmetric_head_looks_the_same_mirrored():
    X, _ = make_rendered_object(1, size=32, pan=0, tilt=0, light=0, random_state=0)
    image = X.reshape(32, 32)
    assert np.abs(image - image[:, ::-1]).mean() < 0.02


def test_noise_is_added_and_bad_angles_are_refused():
    clean, _ = make_rendered_object(5, size=16, random_state=0)
    noisy, _ = make_rendered_object(5, size=16, noise=0.1, random_state=0)
    np.testing.assert_allclose((noisy - clean).std(), 0.1, rtol=0.1)
    with pytest.raises(ValueError, match="tilt must be"):
        make_rendered_object(5, tilt=100)
