"""Imports flow one way: a layer may import only the layers listed before it."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

from sklearn.datasets import load_digits, make_swiss_roll

import polyfold
from polyfold import kernels

ROOT = Path(polyfold.__file__).parent
LAYERS = [
    "exceptions",
    "_typing",
    "_policy",
    "_linalg",
    "_validation",
    "_files",
    "_progress",
    "_threads",
    "sources",
    "_regression",
    "neighbors",
    "bootstrap",
    "kernels",
    "spectra",
    "modular",
    "nonredundant",
    "clustering",
    "training",
    "metrics",
    "estimators",
    "baselines",
    "networks",
    "ensembles",
    "saving",
    "export",
    "datasets",
    "report",
    "explaining",
    "demo",
    "tables",
    "cli",
]
# Layers that see arrays only: they import nothing but the numeric and border layers.
ARRAYS_ONLY = {"metrics", "datasets"}
GROUND = {*LAYERS[: LAYERS.index("_threads") + 1], "_regression"}


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
        if parts in (("__init__.py",), ("__main__.py",)):
            continue
        here = parts[0].removesuffix(".py")
        for there in internal_imports(path):
            if there != here:
                yield str(path.relative_to(ROOT)), here, there


# The report asks models by their methods, never by their class, so that it shows any scikit-learn transformer, too.
REPORT_IMPORTS = GROUND | {"metrics", "neighbors"}


def is_allowed(here: str, there: str) -> bool:
    if here == "report":
        return there in REPORT_IMPORTS
    if here in ARRAYS_ONLY:
        return there in GROUND
    return LAYERS.index(there) < LAYERS.index(here)


def test_the_layers_are_the_folders():
    here = {p.name.removesuffix(".py") for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert here - {"__init__", "__main__"} == set(LAYERS)


def test_every_layer_has_its_row_in_the_architecture():
    text = (ROOT.parents[1] / "ARCHITECTURE.md").read_text()
    assert [layer for layer in LAYERS if f"`{layer}" not in text] == []


KERNEL_TYPES = {name for name in vars(kernels) if isinstance(getattr(kernels, name), type)}


def type_tests(path: Path):
    """Names of kernel and operator types, imported from the package, that `isinstance` is asked for."""
    tree = list(ast.walk(ast.parse(path.read_text())))
    imports = [n for n in tree if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("polyfold.kernels")]
    known = {name.asname or name.name for node in imports for name in node.names} & KERNEL_TYPES
    for node in tree:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            names = {ast.unparse(n).removeprefix("kernels.") for n in ast.walk(node.args[1])}
            yield from names & known


def test_nobody_outside_asks_for_the_type_of_a_kernel_or_operator():
    outside = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "kernels"]
    assert {str(path): asked for path in outside if (asked := set(type_tests(path)))} == {}
    assert set(type_tests(ROOT / "kernels" / "_registry.py")) == {"Kernel", "GraphKernel"}


def files_of(function):
    """Return the files whose functions run in a call; progress and threads count as one, and so does `sources`."""
    seen = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            shared = {"_progress.py": "running", "_threads.py": "running"}
            seen.add(path.parent if path.parent.name == "sources" else shared.get(path.name, path))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return seen


def test_the_walk_of_an_x_through_a_fit_is_short():
    roll, digits = make_swiss_roll(300, random_state=0)[0], load_digits().data
    for model, X, most in (
        (polyfold.NonRedundantEmbedding(kernel="laplacian_eigenmaps", random_state=0), roll, 14),
        (polyfold.ModularKernelPCA(random_state=0), digits, 15),
        (polyfold.ModularKernelPCA(5, 4, rank=100, random_state=0), digits, 15),
        (polyfold.BootstrapClustering(10, random_state=0), digits[:500], 15),
    ):
        model.fit(X)  # what is imported on first use is no part of the walk
        assert len(files_of(lambda model=model, X=X: model.fit(X))) <= most


def test_imports_point_down_the_list():
    assert [arrow for arrow in arrows() if not is_allowed(*arrow[1:])] == []


def outside_imports(code: str) -> set[str]:
    """Return the folders of the repository, outside the package, that a module imports."""
    nodes = list(ast.walk(ast.parse(code)))
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    modules += [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    return {module.partition(".")[0] for module in modules} & {"papers", "benchmarks", "tests"}


def test_warnings_point_at_the_caller():
    fixed = []
    for path in ROOT.rglob("*.py"):
        if path.is_relative_to(ROOT / "cli") or path.is_relative_to(
            ROOT / "tables"
        ):  # prints warnings without their place
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                levels = [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == "stacklevel"]
                fixed += [f"{path.name}:{node.lineno}"] if levels != ["outside()"] else []
    assert fixed == []


def test_the_package_imports_neither_papers_nor_benchmarks():
    found = {str(path): outside_imports(path.read_text()) for path in ROOT.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}
    assert outside_imports("from papers.data import load_dataset\nimport benchmarks.labelled") == {
        "papers",
        "benchmarks",
    }


def repeated(names) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def test_file_names_are_unique():
    names = [path.name for path in ROOT.rglob("*.py") if path.name != "__init__.py"]
    assert repeated(names) == set()
    assert repeated(["_a.py", "_b.py", "_a.py"]) == {"_a.py"}


def test_no_two_classes_share_a_name():
    trees = [ast.walk(ast.parse(path.read_text())) for path in ROOT.rglob("*.py")]
    assert repeated(node.name for tree in trees for node in tree if isinstance(node, ast.ClassDef)) == set()


def test_a_wrong_arrow_is_seen():
    assert not is_allowed("kernels", "estimators")
    assert not is_allowed("metrics", "estimators")
    assert not is_allowed("report", "estimators")
    assert is_allowed("estimators", "kernels")


def test_import_stays_light():
    code = "import polyfold, sys; print(*sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "faiss", "dask", "torch", "matplotlib", "sklearn"} & set(loaded)


def test_all_names_resolve():
    for name in polyfold.__all__:
        assert getattr(polyfold, name) is not None
