"""Types help users: an editor accepts what works, reports what does not, and knows what comes back."""

import importlib
import importlib.util
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import polyfold

PACKAGES = ("baselines", "datasets", "ensembles", "estimators", "kernels", "metrics", "report", "saving", "sources")
# Signatures in which nothing more precise than Any is true.
ALLOWED = {
    "load": "the class is known from the file only",
    "write_rows": "the given arrays, memory maps of new .npy files, or zarr arrays",
}
# Modules whose signatures are not precise yet.
PENDING = {"polyfold.estimators._bootstrap", "polyfold.estimators._bootstrap_clustering"}

# Lines that end in "# wrong" must be reported, all others accepted.
SNIPPET = """\
from typing import assert_type

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import polyfold as pf

X = np.zeros((100, 5))
y = np.zeros(100, dtype=int)

model = pf.ModularKernelPCA(n_modules=3, diversity=0.5, kernel=pf.kernels.Gaussian(), random_state=0)
pf.ModularKernelPCA(kernel="rbf", feature_map="nystroem", random_state=np.random.RandomState(0))
pf.KernelEmbedding(kernel=lambda A, B: A @ B.T)
pf.NonRedundantEmbedding(kernel=pf.kernels.LaplacianEigenmaps(neighbors=sp.csr_array((100, 100))))
pf.ModularKernelPCA(n_modules="three")  # wrong
pf.ModularKernelPCA(diversity="high")  # wrong
pf.ModularKernelPCA(solver="newton")  # wrong
pf.ModularKernelPCA(kernel=3)  # wrong
pf.ModularKernelPCA(random_state="0")  # wrong
pf.ModularKernelPCA(modules=3)  # wrong
pf.ModularPCA()  # wrong
assert_type(pf.__version__, str)

assert_type(model.fit(X), pf.ModularKernelPCA)
model.fit([[0.0, 1.0], [1.0, 0.0]])
model.fit(sp.csr_array(X))
model.fit(sp.csr_matrix(X))
model.fit(pd.DataFrame(X))
model.fit([X, X])
model.fit(pf.sources.as_source([X, X]))
model.fit("data.csv")  # wrong
model.fit(3)  # wrong

assert_type(model.transform(X), NDArray[np.floating])
assert_type(model.remix(diversity=0.9), pf.ModularKernelPCA)
assert_type(model.diversity_path([0.1, 0.9]), list[pf.ModularKernelPCA])
model.remix(diversity="0.9")  # wrong

classifier = pf.ModularClassifier(model, voting="soft").fit(X, y)
assert_type(classifier.predict_proba(X), NDArray[np.floating])
pf.ModularClassifier(model, voting="loud")  # wrong
assert_type(pf.select_diversity(model, X, y).best_diversity, float)
pf.Compressed(make_pipeline(PCA(2)), student="torch")
pf.save(model, "model.polyfold")
pf.save(model)  # wrong
pf.load("model.polyfold").transform(X)

assert_type(pf.metrics.nmi(y, [0] * 100), float)
pf.metrics.redundancy(X, regressor="cubic")  # wrong
pf.report.explore(model, X, y=y, path="report.html")
pf.report.RepresentationDisplay.from_estimator(model, X, y=y, theme="dark")
pf.report.RepresentationDisplay.from_estimator(model, X, colour="red")  # wrong
"""


def test_an_editor_accepts_correct_calls_and_reports_wrong_ones(tmp_path):
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("needs basedpyright, from the extra test")
    (tmp_path / "snippet.py").write_text(SNIPPET)
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(Path(polyfold.__file__).parents[1])]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "-p", str(tmp_path), "--pythonpath", sys.executable]
    report = json.loads(subprocess.run([*command, "--outputjson"], capture_output=True, text=True).stdout)
    errors = [one for one in report["generalDiagnostics"] if one["severity"] == "error"]
    found = {one["range"]["start"]["line"] + 1: one["message"] for one in errors}
    wrong = {i for i, line in enumerate(SNIPPET.splitlines(), start=1) if line.endswith("# wrong")}
    assert {line: text for line, text in found.items() if line not in wrong} == {}
    assert wrong - set(found) == set()


def is_ours(thing):
    return inspect.isroutine(thing) and str(getattr(thing, "__module__", "")).startswith("polyfold")


def functions():
    """Public functions and methods of polyfold, by qualified name; parts that come from scikit-learn are left out."""
    for package in PACKAGES:
        module = importlib.import_module(f"polyfold.{package}")
        for thing in (getattr(module, name) for name in module.__all__):
            if inspect.isclass(thing):
                members = [m for name, m in inspect.getmembers(thing) if name == "__init__" or name[0] != "_"]
            else:
                members = [thing]
            yield from filter(is_ours, members)


def is_vague(annotation):
    return annotation in (Any, "Any", inspect.Parameter.empty) or Any in get_args(annotation)[:1]


def vague_parts(function):
    """Names of parameters without a type, or of type Any; "return" for the result."""
    signature = inspect.signature(function)
    parts = {name: p.annotation for name, p in signature.parameters.items() if name not in ("self", "cls")}
    if function.__name__ != "__init__":
        parts["return"] = signature.return_annotation
    return [name for name, annotation in parts.items() if is_vague(annotation)]


def test_public_signatures_have_types():
    known = [f for f in functions() if f.__name__ not in ALLOWED and f.__module__ not in PENDING]
    assert len(known) > 100
    assert {f"{f.__module__}.{f.__qualname__}": parts for f in known if (parts := vague_parts(f))} == {}


def test_a_vague_signature_is_seen():
    def vague(a: Any, b, c: int) -> Any: ...

    assert vague_parts(vague) == ["a", "b", "return"]
