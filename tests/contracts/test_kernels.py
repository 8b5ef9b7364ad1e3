"""What every kernel of two points must be: symmetric, positive semi-definite, the same in blocks."""

import numpy as np
import pytest

from tests.catalog import KERNELS


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_symmetric_and_positive_semidefinite(kernel, blobs):
    K = kernel.resolve(blobs)(blobs, blobs)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * np.abs(K).max()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_blocks_are_parts_of_the_whole(kernel, blobs):
    resolved = kernel.resolve(blobs)
    np.testing.assert_allclose(resolved(blobs[:7], blobs[20:30]), resolved(blobs, blobs)[:7, 20:30], atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_resolving_leaves_the_original_alone(kernel, blobs):
    before = kernel.get_params()
    kernel.resolve(blobs)
    assert kernel.get_params() == before
    assert not hasattr(kernel, "gamma_")
