"""Save a model in a file, and load it in another process: data only, checked before anything is made of it."""

import os
import platform
import warnings
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from polyfold._files import write_file
from polyfold._validation import shortened
from polyfold.exceptions import MissingExtraError, ModelFileError
from polyfold.saving._container import pack, unpack
from polyfold.saving._reading import build, names_in
from polyfold.saving._trust import untrusted
from polyfold.saving._writing import CALL, UnreachableError, Writer


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that :func:`polyfold.load` reads.

    The file is complete or absent, has a checksum and the versions it was written with, and holds arrays and
    parameters, never code.

    Parameters
    ----------
    model : estimator
        Of polyfold or scikit-learn, fitted or not, pipelines included.
    path : path-like
        By convention with the ending ``.polyfold``.

    See Also
    --------
    load : Read a model from a file.

    Examples
    --------
    >>> import polyfold as pf, tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = pf.ModularKernelPCA(2, 2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "iris.polyfold"
    ...     pf.save(model, path)
    ...     same = pf.load(path)
    >>> bool((same.transform(X) == model.transform(X)).all())
    True
    """
    if not hasattr(model, "get_params") or isinstance(model, type):
        raise TypeError(f"model must be an estimator, got {model!r}; pass a model such as polyfold.ModularKernelPCA().")
    writer = Writer()
    try:
        writer.add(model)
        parts = pack(writer.table(), writer.arrays, {"class": type(model).__name__, "written with": _versions()})
    except UnreachableError as error:
        raise TypeError(
            f"model must use functions and classes that another process can import, got {error}; define them at the "
            "top of a module."
        ) from error
    except (TypeError, AttributeError, ValueError, RecursionError) as error:
        raise TypeError(
            f"model must hold arrays, parameters and estimators only, got a part of {type(model).__name__} that is "
            f"none ({error}); replace it, or use joblib.dump, whose files only you should load."
        ) from error
    write_file(path, parts)


def load(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Read a model that :func:`polyfold.save` wrote.

    Nothing in the file is executed. It names types, and only those of polyfold, scikit-learn, NumPy and SciPy are
    created. Time and memory are bounded by the size of the file, and indices are checked before they are used.

    Parameters
    ----------
    path : path-like
    trusted : iterable of str, default=()
        Names of further functions and classes that the model may use, such as a kernel of your own
        (``"my_package.my_kernel"``); they are imported from what is installed here.

    Returns
    -------
    model : estimator
        Its results are the same, bit for bit, under the same versions of the numerical libraries.

    Raises
    ------
    ModelFileError
        If the file is damaged, no model, newer than this version, or names types that are not trusted.

    See Also
    --------
    save : With an example.
    """
    head, table, arrays = unpack(_read(path), str(path))
    names = list(trusted) if not isinstance(trusted, str) else [trusted]
    try:
        return _rebuild(table, arrays, names, path)
    except (ModelFileError, MissingExtraError):
        raise
    # Types of other versions may lack anything; whatever they raise, the reader needs to know which versions these are.
    except (Exception, RecursionError) as error:
        raise ModelFileError(
            f"{path} cannot be rebuilt here ({type(error).__name__}: {error}); it was written with "
            f"{head.get('written with')}, here are {_versions()}: install those versions, or fit and save again."
        ) from error


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the head of a model file, without creating the model.

    The file passes the same checks as in :func:`polyfold.load`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    about : dict
        Class, versions and format.
    """
    return unpack(_read(path), str(path))[0]


def _read(path: str | os.PathLike[str]) -> bytes:
    if Path(path).exists() and not Path(path).is_file():
        raise ModelFileError(f"{path} must be a file written by polyfold.save, got a folder, pipe or device.")
    return Path(path).read_bytes()


def _rebuild(table: memoryview, arrays: memoryview, trusted: list[str], path: str | os.PathLike[str]) -> Any:
    unknown = untrusted(name for name in names_in(table) if name.removesuffix(CALL) not in trusted)
    if strange := [name.removesuffix(CALL) for name in unknown]:
        raise ModelFileError(
            f"{path} names types that are not allowed: {shortened(strange)}; if you know who wrote the file and what "
            f"they do, pass trusted={strange[:12]!r}."
        )
    with warnings.catch_warnings():
        # The versions are in the head, and older ones are meant to load.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = build(table, arrays)
    if not hasattr(model, "get_params") or isinstance(model, type):
        raise ValueError(f"the file holds a {type(model).__name__} instead of a model")
    return model


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
