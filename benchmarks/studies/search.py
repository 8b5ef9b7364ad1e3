"""Does a search by modules keep up with the indexes that people use, and where does it not?

Design: MNIST, 60,000 images to search and 2,000 queries, 15 modules of 20 dimensions (λ = 0.999, Nyström rank 1000),
given as 300 columns to every method; one thread, best of several turns in which every method has its own. Recall is the
share of the 10 nearest in all 300 dimensions; precision that of the 10 nearest in pixels, as in the paper; class the
share of found images of the same digit. FAISS's indexes have their own defaults (HNSW: efConstruction 40). Memory is
the size of a file of the index, what is needed to answer; build includes the choice of the effort.

Expected: HNSW on all dimensions is fast after a long build, inverted lists build quickly and answer slowly at high
recall; a graph on few modules is built in half the time and walked in no more; modules scanned need no build at all.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import polyfold as pf
from benchmarks.studies.modular import Given, H, M, R, images
from polyfold.metrics import retrieval_precision

K = 10
TURNS = 5
Search = Callable[[], np.ndarray]


class Data:
    """Modules of images and queries, and what is to be found."""

    def __init__(self, folder: Path, n_queries: int = 2000):
        import faiss

        faiss.omp_set_num_threads(1)
        X, y = images(folder)
        X, Q = X[:60000], X[60000 : 60000 + n_queries]
        model = pf.ModularKernelPCA(M, H, diversity=0.999, rank=R, random_state=0).fit(X)
        self.Z, self.Q = (np.ascontiguousarray(model.transform(rows)) for rows in (X, Q))
        self.classes, self.query_classes = y[:60000], y[60000 : 60000 + n_queries]
        self.pixels, self.exact = (_flat(a).search(b, K)[1] for a, b in ((X, Q), (self.Z, self.Q)))
        self.exact_precision = 100 * retrieval_precision(self.exact, self.pixels)

    def judged(self, found: np.ndarray) -> dict[str, float]:
        """Recall, precision and share of the same class, in per cent."""
        return {
            "recall": 100 * retrieval_precision(found, self.exact),
            "precision": 100 * retrieval_precision(found, self.pixels),
            "class": 100 * float(np.mean(self.classes[found] == self.query_classes[:, None])),
        }


@cache
def data_of(folder: Path) -> Data:
    """Compute the data once for all parts."""
    return Data(folder)


def _flat(X: np.ndarray) -> Any:
    import faiss

    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return index


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of a call, which on shared cores is nearer to the truth than the clock, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def peers(data: Data) -> dict[str, dict[str, Any]]:
    """FAISS's indexes on all dimensions: build time, memory, and a search for every setting."""
    import faiss

    d = data.Z.shape[1]
    made = {
        "FAISS flat": (lambda: _flat(data.Z), "", (0,)),
        "FAISS HNSW, M = 16": (lambda: faiss.IndexHNSWFlat(d, 16), "efSearch", (10, 13, 16, 20, 28, 40, 64, 128)),
        "FAISS HNSW, M = 32": (lambda: faiss.IndexHNSWFlat(d, 32), "efSearch", (10, 13, 16, 20, 28, 40, 64)),
        "FAISS IVF": (lambda: faiss.index_factory(d, "IVF256,Flat"), "nprobe", (1, 2, 4, 8, 16, 32)),
        "FAISS IVF-PQ": (lambda: faiss.index_factory(d, "IVF256,PQ60"), "nprobe", (1, 2, 4, 8, 16, 32)),
    }
    return {name: _peer(data, *parts) for name, parts in made.items()}


def _peer(data: Data, make: Callable[[], Any], setting: str, values: tuple[int, ...]) -> dict[str, Any]:
    import faiss

    def build() -> Any:
        index = make()
        if not index.is_trained:
            index.train(data.Z)
        if index.ntotal == 0:
            index.add(data.Z)
        return index

    built, index = seconds(build)

    def search(value: int) -> np.ndarray:
        if setting == "nprobe":
            index.nprobe = value
        elif setting:
            index.hnsw.efSearch = value
        return index.search(data.Q, K)[1]

    memory = len(faiss.serialize_index(index)) / 1e6
    searches = {f"{setting}={value}" if setting else "": lambda value=value: search(value) for value in values}
    return {"build s": built, "MB": memory, "searches": searches}


def ours(data: Data) -> dict[str, dict[str, Any]]:
    """Modules scanned by FAISS without an index, and a graph on some of them."""
    scanned = pf.ModularNeighbors(Given(M), n_neighbors=K, engine="faiss").fit(data.Z)
    settings = ((2, 30), (3, 13), (3, 20), (4, 8), (4, 12), (5, 10), (6, 12))
    searches = {
        f"modules={g}, expand={e}": lambda g=g, e=e: scanned.kneighbors(
            data.Q, modules=g, expand=e, return_distance=False
        )
        for g, e in settings
    }
    memory = len(pickle.dumps(scanned)) / 1e6
    linked = pf.ModularNeighbors(Given(M), n_neighbors=K, engine="hnsw")
    linked.fit(data.Z[:500]).kneighbors(data.Q[:5])  # compiled
    built, _ = seconds(lambda: linked.fit(data.Z))
    walks = {
        f"expand={e}": lambda e=e: linked.kneighbors(data.Q, expand=e, return_distance=False)
        for e in sorted({10, 12, 14, 16, 20, 28, 40, 64, 128, linked.expand_})
    }
    chosen = {
        "modules": linked.modules_,
        "expand": linked.expand_,
        "recall estimated": 100 * linked.recall_,
        "error of it": 100 * linked.recall_error_,
    }
    return {
        "modules scanned": {"build s": 0.0, "MB": memory, "searches": searches},
        "graph on modules": {
            "build s": built,
            "MB": len(pickle.dumps(linked)) / 1e6,
            "chosen": chosen,
            "searches": walks,
        },
    }


def in_turns(searches: dict[tuple[str, str], Search], turns: int = TURNS) -> dict[tuple[str, str], float]:
    """Least processor time of every search, all of them in every turn."""
    best = dict.fromkeys(searches, float("inf"))
    for _ in range(turns):
        for name, search in searches.items():
            best[name] = min(best[name], seconds(search)[0])
    return best


def curves(folder: Path) -> dict[str, Any]:
    """Query time against recall and precision for every index and setting."""
    data = data_of(folder)
    methods = {**ours(data), **peers(data)}
    searches = {(name, key): search for name, method in methods.items() for key, search in method["searches"].items()}
    times = in_turns(searches)
    for name, method in methods.items():
        method["points"] = [
            {"setting": key, "s": times[name, key], **data.judged(search())}
            for key, search in method.pop("searches").items()
        ]
    return {"queries": len(data.Q), "exact precision": data.exact_precision, "methods": methods}


def target(folder: Path) -> dict[str, Any]:
    """Compare a graph on modules with HNSW on all dimensions, each with the least effort that reaches a level."""
    data = data_of(folder)
    linked = pf.ModularNeighbors(Given(M), n_neighbors=K, engine="hnsw")
    linked.fit(data.Z[:500]).kneighbors(data.Q[:5])  # compiled
    built, _ = seconds(lambda: linked.fit(data.Z))
    rows = []
    for links in (16, 32):
        import faiss

        index = faiss.IndexHNSWFlat(data.Z.shape[1], links)
        peer_built, _ = seconds(lambda index=index: index.add(data.Z))

        def peer(effort: int, index: Any = index) -> np.ndarray:
            index.hnsw.efSearch = effort
            return index.search(data.Q, K)[1]

        def own(effort: int) -> np.ndarray:
            return linked.kneighbors(data.Q, expand=effort, return_distance=False)

        for name, level in (("precision", 0.95 * data.exact_precision), ("recall", 95.0), ("recall", 99.0)):
            a, b = (_least(data, search, name, level) for search in (own, peer))
            times = in_turns({("own", ""): lambda a=a: own(a), ("peer", ""): lambda b=b, peer=peer: peer(b)}, 3 * TURNS)
            rows.append(
                {
                    "level": f"{name} {level:.1f} %",
                    "HNSW M": links,
                    "expand": a,
                    "efSearch": b,
                    "ours": {"s": times["own", ""], "build s": built, **data.judged(own(a))},
                    "HNSW": {"s": times["peer", ""], "build s": peer_built, **data.judged(peer(b))},
                    "query ratio": times["own", ""] / times["peer", ""],
                    "build ratio": built / peer_built,
                }
            )
    return {"modules": linked.modules_, "exact precision": data.exact_precision, "rows": rows}


def _least(data: Data, search: Callable[[int], np.ndarray], name: str, level: float) -> int:
    """Least effort that reaches the level; below k an index keeps k."""
    return next(effort for effort in range(K, 400) if data.judged(search(effort))[name] >= level)


PARTS = {"curves": curves, "target": target}
