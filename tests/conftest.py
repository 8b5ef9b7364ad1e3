import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def blobs(rng):
    """Three clusters in five dimensions, 90 points."""
    centres = rng.standard_normal((3, 5)) * 1.5
    return np.concatenate([rng.standard_normal((30, 5)) + c for c in centres])
