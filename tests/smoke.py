"""Call every public estimator and function of the installed polyfold once: ``python tests/smoke.py``.

The script needs nothing but polyfold. Every estimator is fitted, used, saved and loaded. A feature whose extra is
missing must fail with one sentence that contains a pip command. A feature whose extra is installed must work. A public
function without a check is a failure, so that none is forgotten.
"""
# ruff: noqa: T201

import inspect
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import polyfold as pf
from polyfold import baselines, datasets, kernels, metrics, networks, report, sources

# Name, call, and the modules that the call needs besides the core dependencies.
Check = tuple[str, Callable[[], object], tuple[str, ...]]

SENTENCE = re.compile(r'.* run: pip install( "[^"]+")+(, [^.]+\.)?')
# Methods that take rows. `inverse_transform` takes coordinates and is called with those of `transform`.
METHODS = ("transform", "transform_modules", "predict", "predict_proba", "kneighbors", "kneighbors_graph", "codes")

X, y = datasets.make_gaussian_mixture(120, n_features=16, n_clusters=3, random_state=0)
IMAGES = X.reshape(-1, 4, 4)
BYTES = np.arange(64, dtype=np.uint8).reshape(4, 16)


def modular() -> pf.ModularKernelPCA:
    """Return a fitted model with three modules of two coordinates."""
    return pf.ModularKernelPCA(3, 2, random_state=0).fit(X)


def small_network() -> pf.MultilayerBootstrapNetwork:
    return pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=50, random_state=0)


def estimators() -> Iterator[Check]:
    """Every public estimator at its defaults, except for required parameters and sizes that make it faster."""
    representation = pf.ModularKernelPCA(3, 2, random_state=0)
    arguments = {
        "BootstrapClustering": {"network": small_network()},
        "BootstrapMap": {"network": small_network(), "layout": "spectral"},
        "BootstrapNeighborsTransformer": {"network": small_network()},
        "Compressed": {"estimator": representation},
        "ModularClassifier": {"representation": representation},
        "ModularNeighbors": {"representation": representation},
        "MultilayerBootstrapNetwork": {"n_classes": 3, "n_clusterings": 50},
    }
    for package in (pf, baselines, networks):
        needs = ("torch",) if package is networks else ()
        for name in package.__all__:
            kind = getattr(package, name)
            if inspect.isclass(kind) and issubclass(kind, BaseEstimator) and hasattr(kind, "fit"):
                yield name, partial(use, kind, arguments.get(name, {})), needs


def use(kind: type[BaseEstimator], arguments: dict[str, object]) -> None:
    """Fit; call every method that takes rows, before saving and after loading; compare."""
    estimator = kind(**arguments)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    assert estimator.fit(X, y) is estimator
    with tempfile.TemporaryDirectory() as folder:
        pf.save(estimator, Path(folder) / "model.polyfold")
        loaded = pf.load(Path(folder) / "model.polyfold")
    methods = [name for name in METHODS if hasattr(estimator, name)]
    assert methods, f"no method among {METHODS}"
    for name in methods:
        compare(getattr(estimator, name)(X[:30]), getattr(loaded, name)(X[:30]))
    if hasattr(estimator, "inverse_transform"):
        Z = estimator.transform(X[:30])
        compare(estimator.inverse_transform(Z), loaded.inverse_transform(Z))


def compare(result: object, after_loading: object) -> None:
    if isinstance(result, tuple | list):
        for pair in zip(result, after_loading, strict=True):
            compare(*pair)
        return
    first, second = (Z.toarray() if sp.issparse(Z) else np.asarray(Z) for Z in (result, after_loading))
    assert len(first), "the result has no rows"
    assert first.dtype.kind != "f" or np.isfinite(first).all(), "the result is not finite"
    assert np.array_equal(first, second), "results differ after loading"


def kernels_by_name() -> Iterator[Check]:
    def embed(kernel: object) -> None:
        rows = X @ X.T if kernel == "precomputed" else X
        Z = pf.KernelEmbedding(2, kernel=kernel, random_state=0).fit(rows).transform(rows)
        assert Z.shape == (len(X), 2), f"the result has shape {Z.shape}"
        assert np.isfinite(Z).all(), "the result is not finite"

    for name in kernels.KERNELS:
        yield f"kernel {name}", lambda k=name: embed(k), ()
    for name in ("exact", "faiss", "pynndescent"):
        needs = () if name == "exact" else (name,)
        yield f"neighbors {name}", lambda n=name: embed(kernels.LaplacianEigenmaps(neighbors=n)), needs


def functions(folder: Path) -> Iterator[Check]:
    """Every public function and plot."""
    plot, onnx, pillow = ("matplotlib",), ("onnx",), ("PIL",)
    Z = X[:, :3]

    def save_and_load() -> None:
        pf.save(modular(), folder / "model.polyfold")
        assert isinstance(pf.load(folder / "model.polyfold"), pf.ModularKernelPCA)

    yield from named(
        pf,
        {
            "load": (save_and_load, ()),
            "explain": (lambda: pf.explain(Z, X, random_state=0).tables["axes"], ()),
            "save": (save_and_load, ()),
            "select_diversity": (lambda: pf.select_diversity(modular(), X, y, grid=[0.0, 0.9], cv=2), ()),
            "show_progress": (lambda: pf.show_progress(False), ()),
            "to_onnx": (lambda: pf.to_onnx(modular()), onnx),
        },
    )
    yield from named(
        metrics,
        {
            "average_accuracy_curve": (lambda: metrics.average_accuracy_curve(X, y, counts=[1, 3]), ()),
            "clustering_accuracy": (lambda: metrics.clustering_accuracy(y, y), ()),
            "distance_correlation": (lambda: metrics.distance_correlation(X, Z), ()),
            "ensemble_errors": (lambda: metrics.ensemble_errors([y, y], y), ()),
            "inner_product_loss": (lambda: metrics.inner_product_loss(X, X @ X.T), ()),
            "loo_reconstruction": (lambda: metrics.loo_reconstruction(Z, X), ()),
            "majority_vote": (lambda: metrics.majority_vote([y, y, y]), ()),
            "modular_loss": (lambda: metrics.modular_loss([Z, Z], X @ X.T, 0.5), ()),
            "module_correlation": (lambda: metrics.module_correlation([Z, Z**2]), ()),
            "module_fidelity": (lambda: metrics.module_fidelity([Z, Z**2], X), ()),
            "nmi": (lambda: metrics.nmi(y, y), ()),
            "psnr": (lambda: metrics.psnr(X, X + 0.1), ()),
            "redundancy": (lambda: metrics.redundancy(Z), ()),
            "retrieval_precision": (lambda: metrics.retrieval_precision([[0, 1]], [[1, 2]]), ()),
        },
    )
    yield from named(
        datasets,
        {
            "make_convex": (lambda: datasets.make_convex(4, random_state=0), ()),
            "make_gaussian_mixture": (lambda: datasets.make_gaussian_mixture(10, random_state=0), ()),
            "make_image_background": (lambda: datasets.make_image_background(BYTES, random_state=0), pillow),
            "make_random_background": (lambda: datasets.make_random_background(BYTES, random_state=0), ()),
            "make_rectangles": (lambda: datasets.make_rectangles(4, random_state=0), ()),
            "make_rendered_object": (lambda: datasets.make_rendered_object(4, random_state=0), ()),
            "make_ring": (lambda: datasets.make_ring(10, random_state=0), ()),
            "make_rotations": (lambda: datasets.make_rotations(BYTES, random_state=0), ()),
            "make_strip": (lambda: datasets.make_strip(10, random_state=0), ()),
            "make_swiss_roll": (lambda: datasets.make_swiss_roll(10, random_state=0), ()),
        },
        only="make_",
    )
    path = folder / "report.html"
    yield from named(
        report,
        {
            "AllocationDisplay": (lambda: report.AllocationDisplay.from_estimator(modular()), plot),
            "ClusterTreeDisplay": (lambda: report.ClusterTreeDisplay([[0, 0, 1], [0, 2, 1]]).plot(), plot),
            "DiversityDisplay": (lambda: report.DiversityDisplay.from_estimator(modular(), X, y=y), plot),
            "ExplanationDisplay": (lambda: pf.explain(Z, X, random_state=0).plot(), plot),
            "LossDisplay": (lambda: report.LossDisplay.from_estimator(modular()), plot),
            "RedundancyDisplay": (lambda: report.RedundancyDisplay.from_representation(Z), plot),
            "RepresentationDisplay": (lambda: report.RepresentationDisplay.from_estimator(modular(), X, y=y), plot),
            "RetrievalDisplay": (lambda: report.RetrievalDisplay.from_estimator(modular(), X, images=IMAGES), plot),
            "ScreeDisplay": (lambda: report.ScreeDisplay([0.4, 0.1]).plot(), plot),
            "ViewsDisplay": (lambda: report.ViewsDisplay.from_estimator(modular(), X, y=y), plot),
            "chapter": (lambda: report.chapter(modular(), X, y=y, images=IMAGES), pillow),
            "explore": (lambda: report.explore(modular(), X, y=y, path=path), ()),
            "write_page": (lambda: report.write_page([report.chapter(modular(), X)], path, title="Smoke"), ()),
        },
    )


def named(
    package: object, checks: dict[str, tuple[Callable[[], object], tuple[str, ...]]], only: str = ""
) -> Iterator[Check]:
    """Yield the checks of a package, and a failing one for a public function or plot that has none."""
    label = package.__name__.rpartition(".")[2]
    for name in package.__all__:
        thing = getattr(package, name)
        is_plot = inspect.isclass(thing) and name.endswith("Display")
        if name in checks:
            call, needs = checks[name]
            yield f"{label}.{name}", call, needs
        elif (inspect.isfunction(thing) or is_plot) and name.startswith(only):
            yield f"{label}.{name}", without_check, ()


def without_check() -> None:
    raise AssertionError("tests/smoke.py has no check of this name")


def extras(folder: Path) -> Iterator[Check]:
    """Features behind an extra that no check above reaches, and containers of rows."""

    def on_blocks(rows: object) -> None:
        Z = pf.ModularKernelPCA(3, 2, random_state=0).fit(rows).transform(X)
        assert np.allclose(Z, modular().transform(X)), "the result differs from that of an array"

    def write(name: str) -> None:
        sources.write_rows(modular().transform, sources.as_source([X[:50], X[50:]]), folder / name)

    def layout(name: str) -> None:
        use(pf.BootstrapMap, {"network": small_network(), "layout": name})

    def search(engine: str) -> None:
        use(pf.ModularNeighbors, {"representation": pf.ModularKernelPCA(3, 2, random_state=0), "engine": engine})

    def dask_array() -> None:
        import dask.array

        on_blocks(dask.array.from_array(X, chunks=(50, 16)))

    yield "layout spectral", lambda: layout("spectral"), ()
    yield "layout tsne", lambda: layout("tsne"), ("openTSNE",)
    yield "layout umap", lambda: layout("umap"), ("umap",)
    yield "engine sklearn", lambda: search("sklearn"), ()
    yield "engine faiss", lambda: search("faiss"), ("faiss",)
    yield "engine hnsw", lambda: search("hnsw"), ("faiss",)
    yield "student torch", lambda: pf.Compressed(modular(), student="torch", random_state=0).fit(X), ("torch",)
    yield "blocks", lambda: on_blocks([X[:50], X[50:]]), ()
    yield "write_rows npy", lambda: write("Z.npy"), ()
    yield "write_rows zarr", lambda: write("Z.zarr"), ("zarr",)
    if find_spec("dask"):  # a Dask array cannot be passed without Dask
        yield "Dask array", dask_array, ()


def commands(folder: Path) -> Iterator[Check]:
    """The command line, in a process of its own."""

    def run(*arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "polyfold", *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return
        missing = not all(map(find_spec, needs))
        raise (ImportError if missing else RuntimeError)(done.stderr.strip() or f"exit code {done.returncode}")

    needs = ("click", "rich", "pandas")
    header = ",".join(f"x{i}" for i in range(X.shape[1]))
    np.savetxt(folder / "data.csv", X, delimiter=",", header=header, comments="")
    yield "polyfold --help", lambda: run("--help"), needs
    yield "polyfold fit", lambda: run("fit", "data.csv", "-o", "cli.polyfold"), needs
    yield "polyfold transform", lambda: run("transform", "cli.polyfold", "data.csv", "-o", "cli.npy"), needs


def failure(call: Callable[[], object], needs: tuple[str, ...]) -> tuple[bool, str]:
    """Return whether a check failed, and what to print about it."""
    missing = [name for name in needs if find_spec(name) is None]
    try:
        call()
    except Exception as error:
        message = str(error)
        if missing and isinstance(error, ImportError):
            return SENTENCE.fullmatch(message) is None, message
        return True, f"{type(error).__name__}: {message}"
    return bool(missing), f"worked without {', '.join(missing)}" if missing else ""


def main() -> int:
    """Run all checks; return the exit code."""
    os.environ["MPLBACKEND"] = "Agg"
    warnings.simplefilter("ignore")  # the oldest and the newest versions deprecate different things
    failed = passed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        groups = (estimators(), kernels_by_name(), functions(folder), extras(folder), commands(folder))
        for check, call, needs in (item for group in groups for item in group):
            is_failure, detail = failure(call, needs)
            failed, passed = failed + is_failure, passed + (not is_failure)
            print("FAILED" if is_failure else "ok", check + (f": {detail}" if detail else ""), flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
