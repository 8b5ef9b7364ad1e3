"""Do damaged model files ever load, and what do saved and exported models cost?

Design: `corruptions` damages the files of three fitted models a thousand times in eight ways (bits flipped, cut short,
parts zeroed, exchanged, repeated, dropped, overwritten, appended) and loads each with an audit hook that counts what
is executed, started or connected; a load must raise `ModelFileError` within two seconds. `forged` damages the content
and gives it a right checksum, as only somebody who means it would: it may load with other numbers. `models` saves
representations of MNIST (12,000 images) and measures bytes, seconds to save and to load, and that the answers are
equal to the bit. `onnx` exports them and compares with onnxruntime on 2,000 other images, one thread each: bytes,
largest difference as a share of the largest coordinate, and rows per second beside polyfold's own.

Expected: all refused, nothing executed; models load in a fraction of a second; differences below 1e-4.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import polyfold as pf
from benchmarks._record import best_of
from papers.data import load_dataset
from polyfold.exceptions import ModelFileError
from polyfold.saving._container import pack, unpack
from tests.saving.corruption import corruptions

# Events of Python's audit that loading data never needs.
FORBIDDEN = ("os.system", "subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "socket", "exec")


def forged(data: Path, count: int = 1000) -> dict[str, Any]:
    """Damage contents, give them a right checksum, and load them."""
    return corrupted(data, count, behind_the_checksum=True)


def _damaged(file: bytes, count: int, seed: int, behind_the_checksum: bool) -> Any:
    if not behind_the_checksum:
        yield from corruptions(file, count, seed)
        return
    head, content = unpack(file, "")
    for name, damaged in corruptions(content, count, seed):
        yield name, b"".join(pack(damaged, head))


def corrupted(data: Path, count: int = 1000, behind_the_checksum: bool = False) -> dict[str, Any]:
    """Damage files and load them."""
    X = np.random.RandomState(0).standard_normal((60, 5))
    network = pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=20, random_state=0)
    models = [pf.ModularKernelPCA(2, 2, random_state=0), pf.KernelEmbedding(kernel="isomap"), network]
    executed: list[str] = []
    watching = [False]
    # "exec" also reports imports, which are done before the first damaged file;
    # numpy reads heads by compiling literals.
    sys.addaudithook(lambda event, _: executed.append(event) if watching[0] and event.startswith(FORBIDDEN) else None)
    refused, loaded, other, slowest = 0, 0, [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.polyfold"
        for seed, model in enumerate(models):
            pf.save(model.fit(X), path)
            pf.load(path)
            for name, damaged in _damaged(path.read_bytes(), -(-count // len(models)), seed, behind_the_checksum):
                path.write_bytes(damaged)
                start, watching[0] = time.perf_counter(), True
                try:
                    pf.load(path)
                    loaded += 1
                except ModelFileError as error:
                    refused += "\n" not in str(error) and str(path) in str(error)
                except BaseException as error:
                    other.append(f"{name}: {error!r}")
                finally:
                    watching[0] = False
                slowest = max(slowest, time.perf_counter() - start)
    return {
        "damaged files": refused + loaded + len(other),
        "refused with a sentence": refused,
        "loaded": loaded,
        "other errors": other,
        "executed": sorted(set(executed)),
        "slowest, s": round(slowest, 3),
    }


def _images(data: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = load_dataset("mnist", data, return_X_y=True)
    order = np.random.RandomState(0).permutation(len(X))[:14_000]
    X, y = X[order].astype(np.float32), y[order]
    return X[:12_000], y[:12_000], X[12_000:]


def _fitted(data: Path) -> tuple[dict[str, Any], np.ndarray]:
    X, y, new = _images(data)
    modular = pf.ModularKernelPCA(15, 20, rank=1000, random_state=0).fit(X)
    models = {
        "ModularKernelPCA, 1000 landmarks": modular,
        "ModularKernelPCA, linear": pf.ModularKernelPCA(15, 20, kernel="linear", random_state=0).fit(X),
        "ModularAutoencoder": pf.ModularAutoencoder(15, 20, random_state=0).fit(X),
        "ModularClassifier, logistic": pf.ModularClassifier(
            pf.ModularAutoencoder(5, 20, random_state=0), LogisticRegression(max_iter=200)
        ).fit(X[:3000] / 255, y[:3000]),
        "Compressed": pf.Compressed(modular, random_state=0).fit(X[:4000]),
    }
    return models, new


def models(data: Path) -> dict[str, Any]:
    """Bytes, seconds and equality of saved models."""
    fitted, new = _fitted(data)
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in fitted.items():
            path = Path(folder) / "model.polyfold"
            written = best_of(lambda model=model, path=path: pf.save(model, path))
            read = best_of(lambda path=path: pf.load(path))
            same = np.array_equal(_answer(pf.load(path), new), _answer(model, new))
            figures[name] = {"bytes": path.stat().st_size, "save, s": written, "load, s": read, "equal": same}
    return figures


def exported(data: Path) -> dict[str, Any]:
    """Bytes, differences and rows per second of exported models."""
    import onnxruntime

    fitted, new = _fitted(data)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    figures = {}
    for name, model in fitted.items():
        rows = new / 255 if "Classifier" in name else new
        content = pf.to_onnx(model).SerializeToString()
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        output = session.get_outputs()[0].name
        found, expected = session.run([output], {"X": rows})[0], _answer(model, rows)
        if output == "label":
            gap = {"labels that agree": float(np.mean(found == expected))}
        else:
            gap = {"largest difference": float(np.abs(found - expected).max() / np.abs(expected).max())}
        with threadpool_limits(1):
            ours = best_of(lambda model=model, rows=rows: _answer(model, rows))
        theirs = best_of(lambda session=session, output=output, rows=rows: session.run([output], {"X": rows}))
        figures[name] = {"bytes": len(content), **gap, "rows/s, onnx": len(new) / theirs, "rows/s": len(new) / ours}
    return figures


def _answer(model: Any, rows: np.ndarray) -> np.ndarray:
    return np.asarray(model.transform(rows) if hasattr(model, "transform") else model.predict(rows))


PARTS = {"corruptions": corrupted, "forged": forged, "models": models, "onnx": exported}
