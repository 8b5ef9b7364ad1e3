"""A loader for every set of the catalogue, which says what it holds."""

import os
from typing import Protocol

from numpy.typing import NDArray
from sklearn.utils import Bunch

from polyfold._typing import Matrix
from polyfold.datasets._catalogue import CATALOGUE
from polyfold.datasets._load import load_named


class Loader(Protocol):
    """Load a data set as a Bunch, or as the pair (data, target)."""

    def __call__(
        self,
        data_home: str | os.PathLike[str] | None = None,
        *,
        return_X_y: bool = False,
        download: bool = True,
        verify: bool = True,
    ) -> Bunch | tuple[Matrix, NDArray]:
        """Load the set."""
        ...


def _loader(name: str) -> Loader:
    entry = CATALOGUE[name]

    def load(
        data_home: str | os.PathLike[str] | None = None,
        *,
        return_X_y: bool = False,
        download: bool = True,
        verify: bool = True,
    ) -> Bunch | tuple[Matrix, NDArray]:
        return load_named(name, data_home, return_X_y=return_X_y, download=download, verify=verify)

    load.__name__ = load.__qualname__ = f"load_{name}"
    load.__module__ = "polyfold.datasets"
    source = "fetch it from openml.org where it is missing" if entry.openml else "download; this set cannot be"
    load.__doc__ = f"""Load {entry.title}.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with ``{entry.file}``; None means the one that the environment variable ``POLYFOLD_DATA`` names, else
        ``~/polyfold_data``.
    return_X_y : bool, default=False
        Return the pair (data, target) instead of a Bunch.
    download : bool, default=True
        Whether to {source}.
    verify : bool, default=True
        Compare the content with the known checksum.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch` or tuple
        data and target, and what else the file holds: {entry.arrays}.
    """
    return load


load_20newsgroups = _loader("20newsgroups")
load_coil20 = _loader("coil20")
load_dermatology = _loader("dermatology")
load_fashion_mnist = _loader("fashion_mnist")
load_isolet1 = _loader("isolet1")
load_isomap_faces = _loader("isomap_faces")
load_mnist = _loader("mnist")
load_new_thyroid = _loader("new_thyroid")
load_orl = _loader("orl")
load_rectangles = _loader("rectangles")
load_reuters = _loader("reuters")
load_umist = _loader("umist")
load_usps = _loader("usps")
load_yaleb = _loader("yaleb")
