"""What axes, clusters and modules mean: strengths of features, effect sizes, names and prototypes."""

from polyfold.explaining._explain import explain
from polyfold.explaining._explanation import Explanation

__all__ = ["Explanation", "explain"]
