"""Exact nearest neighbours in one module, by whichever library is there."""

from __future__ import annotations

import importlib.util
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from polyfold._validation import check_choice, import_extra

__all__ = ["Engine", "FaissEngine", "SklearnEngine", "choose_engine", "make_engine"]


class Engine(Protocol):
    """Exact search over the rows of one matrix."""

    def search(self, Q: NDArray, k: int) -> NDArray:
        """Return the indices of the k nearest rows of every query, nearest first, shape (n, k)."""
        ...


class SklearnEngine:
    """scikit-learn's brute force."""

    def __init__(self, Z: NDArray):
        self._index = NearestNeighbors(algorithm="brute").fit(Z)

    def search(self, Q: NDArray, k: int) -> NDArray:
        """Return the indices of the k nearest rows of every query, shape (n, k)."""
        return self._index.kneighbors(Q, n_neighbors=k, return_distance=False)


class FaissEngine:
    """FAISS's flat index, in single precision."""

    def __init__(self, Z: NDArray):
        faiss = import_extra("faiss", "faiss")
        self._rows = np.ascontiguousarray(Z, dtype=np.float32)
        self._index = faiss.IndexFlatL2(Z.shape[1])
        self._index.add(self._rows)

    def search(self, Q: NDArray, k: int) -> NDArray:
        """Return the indices of the k nearest rows of every query, shape (n, k)."""
        return self._index.search(np.ascontiguousarray(Q, dtype=np.float32), k)[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self._rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["rows"])  # the index itself holds memory that pickle cannot reach


def choose_engine(engine: str) -> str:
    """Return what ``engine="auto"`` stands for: FAISS where it is installed, else scikit-learn."""
    check_choice("engine", engine, ("auto", "sklearn", "faiss"))
    if engine != "auto":
        return engine
    return "faiss" if importlib.util.find_spec("faiss") else "sklearn"


def make_engine(engine: str, Z: NDArray) -> Engine:
    """Index the rows of `Z`."""
    return FaissEngine(Z) if choose_engine(engine) == "faiss" else SklearnEngine(Z)
