"""Loaders of tables and texts: speech, medicine, news."""

from __future__ import annotations

import os
from typing import Any

from polyfold.datasets._load import load_named

PathLike = str | os.PathLike[str]


def load_isolet1(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load ISOLET part 1: acoustic features of 26 spoken letters.

    Arguments as those of :func:`load_mnist`; the Bunch holds data (1560, 617) float32, target.
    """
    return load_named("isolet1", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_new_thyroid(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load New thyroid (UCI): 5 laboratory tests, 3 classes, unscaled.

    Arguments as those of :func:`load_mnist`; the Bunch holds data (215, 5) float32, target.
    """
    return load_named("new_thyroid", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_dermatology(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load Dermatology (UCI): 34 findings, 6 diseases, unscaled; 8 missing ages are NaN.

    Arguments as those of :func:`load_mnist`; the Bunch holds data (366, 34) float32, target.
    """
    return load_named("dermatology", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_20newsgroups(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load 20 newsgroups: raw term counts of posts, split by date.

    Arguments as those of :func:`load_mnist`, `download` without effect; the Bunch holds data (18846, 17928) CSR,
    target, test (mask), feature_names, target_names.
    """
    return load_named("20newsgroups", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_reuters(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load Reuters-21578 in its 52 single-label topics: raw term counts.

    Arguments as those of :func:`load_mnist`, `download` without effect; the Bunch holds data (9100, 10531) CSR,
    target, test (mask), feature_names, target_names.
    """
    return load_named("reuters", data_home, return_X_y=return_X_y, download=download, verify=verify)
