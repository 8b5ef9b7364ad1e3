"""Print the size of a checkout: lines, files, public names, constants, files walked by a call, compile time, bytes.

``python -m benchmarks.size [CHECKOUT …]`` measures this checkout, or those given, side by side as a Markdown table. The
compile time is the first fit of 500 digits with an empty cache of compiled code, less the second fit, in CPU seconds.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Packages whose numbers can change a result.
NUMERIC = ("bootstrap", "clustering", "ensembles", "estimators", "neighbors", "nonredundant")


def numbers_of(path: Path) -> Iterator[str]:
    """Yield the names of the numeric constants of a module."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            values = [part for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            others = any(isinstance(part, ast.Name | ast.Attribute | ast.Call) for part in ast.walk(node.value))
            if values and not others and all(type(part.value) in (int, float) for part in values):
                targets = [part for target in node.targets for part in ast.walk(target)]
                yield from (part.id for part in targets if isinstance(part, ast.Name))


def static_figures(package: Path) -> dict[str, Any]:
    """Count lines, files, constants and bytes."""
    files = sorted(package.rglob("*.py"))
    numeric = [path for name in NUMERIC for path in (package / name).rglob("*.py")]
    policy = package / "_policy.py"
    installed = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {
        "lines": sum(path.read_text().count("\n") for path in files),
        "files": len(files),
        "constants in `_policy.py`": len(list(numbers_of(policy))) if policy.exists() else 0,
        "other numeric constants of these packages": sum(len(list(numbers_of(path))) for path in numeric),
        "installed size, MB": round(sum(path.stat().st_size for path in installed) / 1e6, 2),
    }


def public_names() -> int:
    """Count the names that the package and its public packages export; a package counts by its own names."""
    import importlib

    import polyfold

    modules = [name for name in polyfold.__all__ if (Path(polyfold.__file__).parent / name / "__init__.py").exists()]
    inner = [importlib.import_module(f"polyfold.{name}") for name in modules]
    return len(polyfold.__all__) - len(modules) + sum(len(getattr(module, "__all__", ())) for module in inner)


def calls() -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """Return five main calls: how to prepare each, and the call itself."""
    from sklearn.datasets import load_digits, make_swiss_roll

    import polyfold as pf

    digits, roll = load_digits().data, make_swiss_roll(300, random_state=0)[0]
    modules = lambda: pf.ModularKernelPCA(5, 4, rank=100, random_state=0)  # noqa: E731
    clusters = lambda: pf.BootstrapClustering(10, random_state=0, n_jobs=1)  # noqa: E731
    axes = lambda: pf.NonRedundantEmbedding(kernel="laplacian_eigenmaps", random_state=0)  # noqa: E731
    return {
        "ModularKernelPCA.fit": (modules, lambda model: model.fit(digits)),
        "NonRedundantEmbedding.fit": (axes, lambda model: model.fit(roll)),
        "BootstrapClustering.fit": (clusters, lambda model: model.fit(digits[:500])),
        "BootstrapClustering.predict": (
            lambda: clusters().fit(digits[:500]),
            lambda model: model.predict(digits[500:600]),
        ),
        "ModularNeighbors.kneighbors": (
            lambda: pf.ModularNeighbors(modules(), engine="sklearn").fit(digits),
            lambda model: model.kneighbors(digits[:100]),
        ),
    }


def files_of(function: Callable[[], Any], package: Path) -> int:
    """Count the files of the package whose functions run in a call."""
    seen = set()

    def note(frame: Any, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(package):
            seen.add(path)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(seen)


def running_figures() -> dict[str, Any]:
    """Measure what needs the package to run, in this process."""
    from sklearn.datasets import load_digits

    import polyfold as pf

    X, seconds = load_digits().data[:500], []
    for _ in range(2):
        start = time.process_time()
        pf.BootstrapClustering(10, random_state=0, n_jobs=1).fit(X)
        seconds.append(time.process_time() - start)
    out: dict[str, Any] = {"public names": public_names()}
    package = Path(pf.__file__).parent
    for name, (prepare, call) in calls().items():
        call(prepare())  # imports of first use do not count
        model = prepare()
        out[f"files walked by `{name}`"] = files_of(lambda call=call, model=model: call(model), package)
    return out | {"compile time of the first fit, CPU s": round(seconds[0] - seconds[1], 1)}


def measure(checkout: Path) -> dict[str, Any]:
    """Return all figures of a checkout."""
    source = checkout.resolve() / "src"
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.size", "--here"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The package in {source} could not be measured:\n{done.stderr}")
    return static_figures(source / "polyfold") | json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    if sys.argv[1:] == ["--here"]:
        print(json.dumps(running_figures()))
    else:
        folders = [Path(name) for name in sys.argv[1:]] or [ROOT]
        tables = [measure(folder) for folder in folders]
        print("| | " + " | ".join(map(str, folders)) + " |\n" + "|---" * (1 + len(folders)) + "|")
        for name in tables[0]:
            print(f"| {name} | " + " | ".join(f"{table[name]:,}" for table in tables) + " |")
