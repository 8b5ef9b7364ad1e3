"""Errors and warnings of polyfold; every message gives the rule, the value and what to do."""


class MissingExtraError(ImportError):
    """An optional dependency is needed and not installed."""


class UnsuitableKernelError(ValueError):
    """A kernel needs more neighbours than it has, or another eigensolver."""


class DegenerateDataWarning(UserWarning):
    """The data have fewer directions than the parameters require."""


class GraphWarning(UserWarning):
    """The neighbour graph is not connected, or misses neighbours."""


class CoverageWarning(UserWarning):
    """A search ended at its deadline before it reached all rows."""


class GuessWarning(UserWarning):
    """A value was estimated from data that do not determine it."""


class ScaleWarning(UserWarning):
    """A few columns dominate all distances, such as columns in other units."""


class ModelFileError(ValueError):
    """A file is not a valid model file of this version, or not trusted."""
