"""Load and use thousands of forged model files: ``python -m tests.saving.fuzz --cases 2000 --seed 0``.

Every case is a saved model with one to three changes of its structure and a valid checksum. Processes forked from a
warm parent load and use the cases, so imports and compilation are paid once. A case passes if `load` refuses it
with a `ModelFileError`, or if the loaded model answers or raises an exception. It fails if

- the process dies (crash), or needs longer than the time limit (hang)
- `load` needs more memory than four times the file and 200 MB, or the use of the model more than 1 GB
- `load` raises another exception
- anything starts a program, opens a connection or writes a file (code)

A failed case is reported with its number: ``--only NUMBER`` runs it in this process.
"""

import argparse
import collections
import os
import select
import signal
import struct
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer, RadiusNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import polyfold as pf
from polyfold.exceptions import MissingExtraError, ModelFileError
from tests.catalog import ENTRIES
from tests.contracts.answers import fitted
from tests.contracts.samples import sheet
from tests.saving.mutations import TRUSTED, mutated

# One thread: a forked process has only one, and OpenMP would wait for the others.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SECONDS = 60
MEMORY, MEMORY_IN_USE = 200 * 2**20, 2**30
BATCH = 50
METHODS = ("transform", "predict", "kneighbors", "transform_modules", "codes", "kneighbors_graph", "radius_neighbors")
WATCHED = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
)
# Also watched while a file is loaded; later, numba unpickles compiled functions from its cache.
WATCHED_IN_LOAD = ("pickle.find_class",)
LOADING: list[Path] = []
OUTCOMES = ("refused", "answered", "raised")


def corpus(folder):
    """Write one file per kind of model, and return the files with the rows to use them on."""
    found = []
    for name, model, X in _models():
        path = folder / f"{len(found)}.polyfold"
        pf.save(model, path)
        found.append((name, path.read_bytes(), X))
    return found


def _models():
    X = sheet()
    for entry in ENTRIES:
        if not entry.needs_torch:
            yield entry.name, fitted(entry, entry.given(X)), entry.given(X)
    network = pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=20, n_jobs=1, random_state=0)
    sparse = sp.csr_matrix(np.where(np.abs(X) > 0.3, X, 0.0))
    for metric in ("euclidean", "cosine"):
        yield f"network-sparse-{metric}", network.set_params(metric=metric).fit(sparse), sparse
        yield f"network-lists-{metric}", network.set_params(neighbors=5).fit(X), X
        network.set_params(neighbors="auto")
    large = np.random.RandomState(0).standard_normal((600, 3))
    yield "network-large-codes", network.set_params(metric="euclidean", first_layer=300).fit(large), large[:20]
    yield "neighbors-hnsw", pf.ModularNeighbors(pf.ModularKernelPCA(2, 2, random_state=0), engine="hnsw").fit(X), X
    y = np.arange(len(X)) % 3
    for model in (
        StandardScaler(),
        KNeighborsTransformer(n_neighbors=2, algorithm="brute"),
        KNeighborsClassifier(2, algorithm="brute"),
        RadiusNeighborsClassifier(10.0),
        KMeans(3, n_init=1, random_state=0),
        OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist"),
        LogisticRegression(),
    ):
        given = np.round(X) if isinstance(model, OneHotEncoder) else X
        yield type(model).__name__, model.fit(given, y), given
    texts = ["one two three", "two three four", "five"] * 4
    yield "words", CountVectorizer().fit(texts), texts


def use(model, X):
    """Call every method that answers, whatever it raises."""
    outcome, width = "raised", getattr(model, "n_features_in_", None)
    if type(width) is int and isinstance(X, np.ndarray) and X.shape[1] != width and 0 < width <= 10**6:
        X = np.ones((2, width))  # what the model asks for reaches compiled code
    for method in METHODS:
        try:
            if hasattr(model, method):
                found = getattr(model, method)(X) if method != "codes" else model.codes()
                if sp.issparse(found) and found.shape[1] <= 10**6:
                    found @ np.ones(found.shape[1])
                outcome = "answered"
        except Exception:
            pass
    return outcome


def peak():
    """Peak of the resident memory, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def run_case(body, X, path):
    """Load and use a file; return the outcome and the memory of `load`."""
    path.write_bytes(body)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak
    before = peak()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            LOADING.append(path)
            model = pf.load(path, trusted=TRUSTED)
            LOADING.clear()
            memory = peak() - before
            outcome = use(model, X)
            return (outcome if peak() - before <= MEMORY_IN_USE else "memory in use"), memory
    except (ModelFileError, MissingExtraError):
        LOADING.clear()
        return "refused", peak() - before
    except BaseException as error:
        return f"error in load: {type(error).__name__}", peak() - before


def _watch(path):
    """Note what no model file may cause."""

    def hook(event, arguments):
        writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        harm = event in WATCHED or (LOADING and event in WATCHED_IN_LOAD)
        if (harm or writes) and not _is_expected(arguments, path):
            os._exit(77)

    sys.addaudithook(hook)


def _is_expected(arguments, path):
    return str(arguments[0]) in (str(path), "/proc/self/clear_refs") or "__pycache__" in str(arguments[0])


def case(number, seed, files):
    """The file, and the rows to use it on, of a case."""
    rng = np.random.default_rng([seed, number])
    name, body, X = files[rng.integers(len(files))]
    return name, mutated(body, rng), X


def work(numbers, seed, files, pipe, path):
    """Run cases in a forked process, and report each before and after."""
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    _watch(path)
    for number in numbers:
        _, body, X = case(number, seed, files)
        os.write(pipe, struct.pack("<qq32s", number, -1, b""))
        outcome, memory = run_case(body, X, path)
        if memory > 4 * len(body) + MEMORY:
            outcome = f"memory: {memory >> 20} MB"
        os.write(pipe, struct.pack("<qq32s", number, memory, outcome.encode()[:32]))
    os._exit(0)


def run_batch(numbers, seed, files, path):
    """Yield number, outcome and memory of every case; processes that die are replaced."""
    waiting = list(numbers)
    while waiting:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            work(waiting, seed, files, writer, path)
        os.close(writer)
        end = None
        while True:
            ready, _, _ = select.select([reader], [], [], SECONDS)
            if not ready:
                os.kill(child, signal.SIGKILL)
                end = "hang"
                break
            if not (message := os.read(reader, 48)):
                break
            _, memory, outcome = struct.unpack("<qq32s", message)
            if memory >= 0 or outcome.strip(b"\0"):
                yield waiting.pop(0), outcome.strip(b"\0").decode(), memory
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(reader)
        if end or status:
            yield waiting.pop(0), end or ("code" if status == 77 else f"crash: {status}"), 0


def main(arguments=None):
    """Run the cases and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="run one case in this process")
    options = parser.parse_args(arguments)
    start = time.time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            files = corpus(Path(folder))
            for _, body, X in files:  # compile, and check that the models work
                assert run_case(body, X, path)[0] == "answered"
        if options.only is not None:
            name, body, X = case(options.only, options.seed, files)
            path.write_bytes(body)
            print(name, len(body), run_case(body, X, path))  # noqa: T201
            return 0
        print(f"{len(files)} kinds of models, {time.time() - start:.0f} s to fit and compile")  # noqa: T201
        counts, failures, most = collections.Counter(), [], 0
        for first in range(options.first, options.first + options.cases, BATCH):
            if (done := first - options.first) and done % 1000 == 0:
                print(f"{done} cases in {time.time() - start:.0f} s", flush=True)  # noqa: T201
            numbers = range(first, min(first + BATCH, options.first + options.cases))
            for number, outcome, memory in run_batch(numbers, options.seed, files, path):
                counts[outcome] += 1
                most = max(most, memory)
                if outcome not in OUTCOMES:
                    failures.append(number)
                    print(f"case {number} ({case(number, options.seed, files)[0]}): {outcome}", flush=True)  # noqa: T201
    took = f"{options.cases} cases in {time.time() - start:.0f} s"
    print(f"{took}: {dict(counts)}; most memory of a load: {most >> 20} MB")  # noqa: T201
    return 1 if failures else 0


if __name__ == "__main__":
    if any(os.environ.get(variable) != "1" for variable in THREADS):
        os.environ.update(dict.fromkeys(THREADS, "1"))
        os.execv(sys.executable, [sys.executable, "-m", "tests.saving.fuzz", *sys.argv[1:]])
    sys.exit(main())
