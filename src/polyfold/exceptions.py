"""Errors and warnings of polyfold; every message names the rule, the value and the way out."""


class MissingExtraError(ImportError):
    """An optional dependency is needed and not installed."""


class DegenerateDataWarning(UserWarning):
    """The data have too few directions, constant columns or the like."""


class GraphWarning(UserWarning):
    """A neighbourhood graph has a shape that changes the result (disconnected, too sparse, …)."""


class CoverageWarning(UserWarning):
    """A search reached only a part of the rows before its deadline."""


class GuessWarning(UserWarning):
    """A value was chosen from data that do not determine it."""


class ScaleWarning(UserWarning):
    """A few columns outweigh all others, as they do when columns are in different units."""


class ModelFileError(ValueError):
    """A file is no model of polyfold, or is damaged, newer than this version, or of types that are not trusted."""
