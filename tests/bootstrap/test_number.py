import numpy as np
import pytest

from polyfold.bootstrap import largest_drop


@pytest.mark.parametrize(
    ("variances", "count"), [([5.0, 4.9, 1.0, 0.9], 3), ([5.0, 1.0], 2), ([1.0], 2), ([0.0, 0.0], 1), ([0.0], 1)]
)
def test_the_largest_drop_is_counted(variances, count):
    assert largest_drop(np.array(variances)) == count
