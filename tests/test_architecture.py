"""Imports flow one way: a layer may import only the layers listed before it."""

import ast
import subprocess
import sys
from pathlib import Path

import polyfold

ROOT = Path(polyfold.__file__).parent
LAYERS = [
    "exceptions",
    "_linalg",
    "_validation",
    "_files",
    "_running",
    "_regression",
    "neighbors",
    "bootstrap",
    "kernels",
    "spectra",
    "modular",
    "nonredundant",
    "training",
    "estimators",
    "baselines",
    "networks",
    "ensembles",
    "metrics",
    "datasets",
    "report",
    "experiments",
    "distributed",
    "cli",
]
# Layers that see arrays only: they import nothing but the numeric and border layers.
ARRAYS_ONLY = {"metrics", "report", "datasets"}
GROUND = {"exceptions", "_linalg", "_validation", "_files", "_running", "_regression"}
# Scores are read by the layers that select and show by them.
EXCEPTIONS = {("ensembles", "metrics")}


def layer_of(module: str) -> str:
    return module.split(".")[1]


def internal_imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("polyfold."):
            yield layer_of(node.module)
        elif isinstance(node, ast.Import):
            yield from (layer_of(a.name) for a in node.names if a.name.startswith("polyfold."))


def arrows():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).parts
        if parts == ("__init__.py",):
            continue
        here = parts[0].removesuffix(".py")
        for there in internal_imports(path):
            if there != here:
                yield str(path.relative_to(ROOT)), here, there


def is_allowed(here: str, there: str) -> bool:
    if (here, there) in EXCEPTIONS:
        return True
    if here in ARRAYS_ONLY:
        return there in GROUND
    return LAYERS.index(there) < LAYERS.index(here)


def test_every_folder_is_a_known_layer():
    here = {p.name.removesuffix(".py") for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert here - {"__init__"} <= set(LAYERS)


def test_imports_point_down_the_list():
    assert [arrow for arrow in arrows() if not is_allowed(*arrow[1:])] == []


def test_a_wrong_arrow_is_seen():
    assert not is_allowed("kernels", "estimators")
    assert not is_allowed("metrics", "estimators")
    assert is_allowed("estimators", "kernels")


def test_import_stays_light():
    code = "import polyfold, sys; print(*sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "faiss", "dask", "torch", "matplotlib", "sklearn"} & set(loaded)


def test_all_names_resolve():
    for name in polyfold.__all__:
        assert getattr(polyfold, name) is not None
