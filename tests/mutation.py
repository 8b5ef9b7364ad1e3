"""Test mutants of the source: ``python -m tests.mutation modular --mutants 60``.

A mutant is a copy of the package with one change, such as `<` for `<=` or 4 for 3, made by cosmic-ray. It is killed if
a test fails or the tests take ten times as long. First all tests of the package's own folder run, then the fast ones of
the estimators that use it. Mutants are sampled by their place in the source, so a place with many variants counts once.
Annotations, decorators and messages are left out. Survivors are written to ``benchmarks/results/mutants.json``; the
field `judgement` is written by hand and kept: a mutant that no test can distinguish is "equivalent", with the reason.
``--own`` runs the tests of the package's own folder only. ``--again`` runs only the survivors of the last run, which
must be of the same source.

Needs ``pip install cosmic-ray``.
"""

import argparse
import ast
import difflib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
# The tests of every package: its own, and those of what uses it.
TESTS = {
    "modular": (
        "tests/modular",
        "tests/estimators/test_modular_kernel_pca.py tests/estimators/test_modular_autoencoder.py "
        "tests/estimators/test_baselines.py tests/metrics",
    ),
    "kernels": (
        "tests/kernels",
        "tests/contracts/test_kernels.py tests/estimators/test_spectral.py tests/nonredundant tests/spectra "
        "tests/contracts/test_graphs.py tests/explaining/test_gradients.py",
    ),
    "saving": ("tests/saving", "tests/contracts/test_saving.py tests/test_files.py"),
    "bootstrap": (
        "tests/bootstrap",
        "tests/estimators/test_bootstrap.py tests/estimators/test_bootstrap_borders.py "
        "tests/estimators/test_bootstrap_neighbors.py tests/kernels/test_shared_centers.py",
    ),
    "nonredundant": ("tests/nonredundant", "tests/estimators/test_nonredundant.py"),
}
MARKS = "not torch and not dask and not browser"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PATIENCE = 10
BITS = ("Bit", "Invert", "LShift", "RShift")
NO_TESTS = 5  # exit code of pytest


def places(path):
    """Yield the place, operator and number of every change of a file."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    tree, ignored = get_ast_from_path(path), _ignored(path)
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments() or name.endswith("RemoveDecorator") or _fails_at_once(name):
            continue
        found = (start for node in ast_nodes(tree) for start, _ in operator().mutation_positions(node))
        for occurrence, place in enumerate(found):
            if not any(first <= place < last for first, last in ignored):
                yield tuple(place), name, occurrence


def _fails_at_once(name):
    """Whether a change gives operations that numbers do not have, so that any test kills it."""
    *before, after = name.split("_")[1:] or [""]
    return after.startswith(BITS) and not (before and before[0].startswith(BITS))


def _ignored(path):
    """Ranges of annotations, of decorators, and of what is raised or warned of."""
    tree, ranges = ast.parse(path.read_text()), []
    for node in ast.walk(tree):
        parts = [
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", []),
        ]
        if isinstance(node, ast.Raise):
            parts.append(node)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("warn", "debug", "info"):
            parts.append(node)
        ranges += [((p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset)) for p in parts if p is not None]
    return ranges


def sample(package, count, seed):
    """Draw places of the package, and a change at each."""
    rng, found = np.random.default_rng(seed), {}
    for path in sorted((ROOT / "src" / "polyfold" / package).glob("*.py")):
        for place, name, occurrence in places(path):
            found.setdefault((path.relative_to(ROOT), place), []).append((name, occurrence))
    keys = sorted(found)
    for number in sorted(rng.choice(len(keys), min(count, len(keys)), replace=False)):
        variants = found[keys[number]]
        yield keys[number][0], *variants[rng.integers(len(variants))]


def mutated(text, name, occurrence):
    """Return the text with one change, or None if it has no such place."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    return mutate_code(text, get_operator(name)(), occurrence)


def run_tests(folder, words, marks, seconds, cache):
    """Run tests in a forked process; return whether they passed, and the seconds."""
    begin, child = time.monotonic(), os.fork()
    if child == 0:
        os.setsid()
        import numba

        numba.config.CACHE_DIR = str(cache)  # numba has read its environment already
        os.environ.update(NUMBA_CACHE_DIR=str(cache), PYTHONPATH=str(folder / "src"))
        os.chdir(folder)
        sys.path[:0] = [str(folder / "src"), str(folder)]
        for name in [name for name in sys.modules if name.partition(".")[0] in ("polyfold", "tests")]:
            del sys.modules[name]
        sink = os.open(folder / "output", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        import pytest

        options = ["-x", "-q", "-m", marks, "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line"]
        os._exit(int(pytest.main([*options, *words.split()])))
    while time.monotonic() - begin < seconds:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) in (0, NO_TESTS), time.monotonic() - begin
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False, seconds


def survives(folder, file, text, tests, limits):
    """Whether all tests pass with the changed file."""
    path, longer = folder / file, 60 if "njit" in text else 0
    original, times = path.read_text(), path.stat()
    path.write_text(text)
    try:
        # numba compiles a changed file again; no compiled function calls one of another file.
        with tempfile.TemporaryDirectory() as place:
            cache = shutil.copytree(folder / "numba", Path(place) / "numba")
            return all(
                run_tests(folder, *which, limit + longer, cache)[0] for which, limit in zip(tests, limits, strict=True)
            )
    finally:
        path.write_text(original)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def copy_of_the_project(folder):
    """Copy what the tests need."""
    for name in ("src", "tests", "benchmarks", "papers", "docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc"))
    for path in [*ROOT.glob("*.py"), *ROOT.glob("*.toml"), *ROOT.glob("*.md"), ROOT / "LICENSE", ROOT / "Makefile"]:
        shutil.copy(path, folder)


def run(package, mutants, tests):
    """Return the survivors among mutants (file, operator, occurrence), and their number."""
    import numba  # noqa: F401  (imported here, the forked processes have it)
    import scipy.sparse.linalg  # noqa: F401
    import sklearn.neighbors  # noqa: F401

    survivors, number = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_of_the_project(folder)
        limits = []
        for which in tests:
            run_tests(folder, *which, 3600, folder / "numba")  # compile
            passed, seconds = run_tests(folder, *which, 3600, folder / "numba")
            assert passed, (folder / "output").read_text()[-3000:]
            limits.append(30 + PATIENCE * seconds)
        print(f"{package}: limits {[round(limit) for limit in limits]} s", flush=True)  # noqa: T201
        for file, operator, occurrence in mutants:
            before = (folder / file).read_text()
            after = mutated(before, operator, occurrence)
            if after is None or after == before:
                continue
            number += 1
            if survives(folder, file, after, tests, limits):
                lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))
                change = [line for line in lines if line[:2] not in ("++", "--")]
                survivors.append(
                    {"file": str(file), "operator": operator, "occurrence": int(occurrence), "change": change}
                )
                print(number, file, *change, sep="\n", flush=True)  # noqa: T201
    return survivors, number


def _commit():
    command = ["git", "-C", ROOT, "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def main():
    """Run the mutants and store the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="+", choices=TESTS)
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--own", action="store_true", help="run only the tests of the package's own folder")
    parser.add_argument("--again", action="store_true", help="run the survivors of the last run again")
    options = parser.parse_args()
    for package in options.packages:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        last = known.get(package, {"survivors": []})
        if options.again:
            mutants = [(Path(s["file"]), s["operator"], s["occurrence"]) for s in last["survivors"]]
        else:
            mutants = list(sample(package, options.mutants, options.seed))
        own, others = TESTS[package]
        tests = [(own, MARKS), (others, f"not slow and {MARKS}")]
        survivors, number = run(package, mutants, tests[: 1 if options.own else 2])
        judged = {json.dumps(s["change"][1:]): s.get("judgement", "") for s in last["survivors"]}
        for survivor in survivors:
            survivor["judgement"] = judged.get(json.dumps(survivor["change"][1:]), "")
        if options.again:
            last["survivors"] = survivors
        else:
            last = {"commit": _commit(), "seed": options.seed, "mutants": number, "survivors": survivors}
            last["survived at first"] = len(survivors)
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps({**known, package: last}, indent=1) + "\n")
        print(f"{package}: {len(survivors)} of {last['mutants']} survive", flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    if any(os.environ.get(variable) != "1" for variable in THREADS):
        os.environ.update(dict.fromkeys(THREADS, "1"), PYTHONDONTWRITEBYTECODE="1")
        os.execv(sys.executable, [sys.executable, "-m", "tests.mutation", *sys.argv[1:]])
    sys.exit(main())
