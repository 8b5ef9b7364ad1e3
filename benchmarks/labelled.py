"""Labelled sets on which clusterings are compared: what is stored, at most 5,000 rows, the same for every method.

Sentence embeddings (`embeddings`) are all files NAME_minilm.npz of the data folder, with all rows.

Left out are *rectangles*, whose classes (wide or tall) are no groups of the pixels, and sets without classes. Text is
tf-idf with rows of unit length. Tables whose columns have different units come twice, as stored and with columns of
unit variance. Eight missing ages of *dermatology* are the median age.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

ROWS = 5000
EMBEDDED = "_minilm"
# Took no part in choosing any default of the library; reported apart.
HELD_OUT = ("usps_11000", "isolet1", "mfeat_fourier", "orl_32", "segment", "reuters")


@dataclass(frozen=True)
class Labelled:
    """Rows, classes 0 … c - 1, and what is known of the set."""

    X: Any
    y: np.ndarray
    is_text: bool
    is_embedding: bool = False

    @property
    def metric(self) -> str:
        """Distance that users pass to other packages for such data."""
        return "cosine" if self.is_text or self.is_embedding else "euclidean"

    @property
    def n_classes(self) -> int:
        """Number of groups that methods are told."""
        return int(self.y.max()) + 1


def load_labelled(name: str, data: Path, rows: int | None = ROWS) -> Labelled:
    """Read a set by its name in `NAMES` or `embeddings`.

    Of labelled sets with more than `rows` rows, as many are drawn, classes in proportion, by a fixed seed.
    """
    if name.endswith(EMBEDDED):
        X, y = _stored(name)(data)
        return Labelled(X.astype(np.float32), np.unique(y, return_inverse=True)[1], False, is_embedding=True)
    stem, _, scaled = name.partition(", ")
    X, y = _SOURCES[stem](data)
    if rows is not None and len(y) > rows:
        X, _, y, _ = train_test_split(X, y, train_size=rows, stratify=y, random_state=0)
    if scaled:
        X = StandardScaler().fit_transform(X)
    return Labelled(X, np.unique(y, return_inverse=True)[1], sp.issparse(X))


def embeddings(data: Path) -> tuple[str, ...]:
    """Names of the sets of sentence embeddings in the data folder."""
    return tuple(sorted(path.stem for path in data.glob(f"*{EMBEDDED}.npz")))


def is_held_out(name: str) -> bool:
    """Whether a set, as stored or scaled, took no part in choosing defaults."""
    return name.partition(", ")[0] in HELD_OUT


def _stored(file: str) -> Callable[[Path], tuple[Any, np.ndarray]]:
    def read(data: Path) -> tuple[Any, np.ndarray]:
        with np.load(data / f"{file}.npz", allow_pickle=False) as arrays:
            return arrays["X"], arrays["y"]

    return read


def _text(file: str) -> Callable[[Path], tuple[Any, np.ndarray]]:
    def read(data: Path) -> tuple[Any, np.ndarray]:
        with np.load(data / f"{file}_counts_csr.npz", allow_pickle=False) as arrays:
            counts = sp.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=arrays["shape"])
            return TfidfTransformer().fit_transform(counts), arrays["y"]

    return read


def _bundled(load: Callable[..., Any]) -> Callable[[Path], tuple[Any, np.ndarray]]:
    return lambda _: load(return_X_y=True)


def _dermatology(data: Path) -> tuple[Any, np.ndarray]:
    X, y = _stored("dermatology")(data)
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X), y


_SOURCES: dict[str, Callable[[Path], tuple[Any, np.ndarray]]] = {
    "iris": _bundled(load_iris),
    "wine": _bundled(load_wine),
    "new_thyroid": _stored("new_thyroid"),
    "dermatology": _dermatology,
    "orl_32": _stored("orl_32"),
    "breast_cancer": _bundled(load_breast_cancer),
    "umist_32": _stored("umist_32"),
    "pbmc68k_reduced": _stored("pbmc68k_reduced"),
    "coil20_32": _stored("coil20_32"),
    "isolet1": _stored("isolet1"),
    "digits": _bundled(load_digits),
    "mfeat_fourier": _stored("mfeat_fourier"),
    "mfeat_pixels": _stored("mfeat_pixels"),
    "segment": _stored("segment"),
    "yaleb_32": _stored("yaleb_32"),
    "mnist": _stored("mnist"),
    "usps_11000": _stored("usps_11000"),
    "20newsgroups": _text("20newsgroups"),
    "reuters": _text("reuters21578"),
}
SCALED = ("wine", "new_thyroid", "dermatology", "breast_cancer")
# Small sets first: an interrupted run has most of the table.
NAMES = tuple(name for stem in _SOURCES for name in ((stem, f"{stem}, scaled") if stem in SCALED else (stem,)))
