import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("torch"):
    import torch

    torch.set_num_threads(1)  # two test processes with two threads each wait for one another


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def blobs(rng):
    """Three clusters in five dimensions, 90 points."""
    centres = rng.standard_normal((3, 5)) * 1.5
    return np.concatenate([rng.standard_normal((30, 5)) + c for c in centres])
