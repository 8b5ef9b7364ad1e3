"""Documents say what is true: keys resolve, links lead somewhere, docstrings list the parameters."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import polyfold

ROOT = Path(__file__).parents[1]
KEY = re.compile(r"\[([A-Z][A-Za-z]+(?:19|20)\d\d)")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def documented():
    """Public classes and functions."""
    for package in ("estimators", "ensembles", "baselines", "metrics", "kernels", "datasets", "report", "saving"):
        module = importlib.import_module(f"polyfold.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield pytest.param(thing, id=f"{package}.{name}")


def test_every_citation_is_in_the_bibliography():
    known = set(re.findall(r"@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text()))
    sources = [p for folder in ("src", "docs", "tests", "benchmarks") for p in (ROOT / folder).rglob("*.py")] + PAGES
    cited = {key for path in sources for key in KEY.findall(path.read_text())}
    assert cited
    assert cited - known == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert missing == []


@pytest.mark.parametrize("thing", list(documented()))
def test_docstring_names_every_parameter(thing):
    doc = inspect.getdoc(thing) or ""
    assert doc
    if "Parameters\n" not in doc:
        return  # refers to another class, or has none of its own
    section = doc.split("Parameters\n", 1)[1]
    names = [p for p in inspect.signature(thing).parameters if p not in ("self", "args", "kwargs")]
    missing = [n for n in names if not re.search(rf"(^|[\s,]){n}(, \w+)* ?:", section, flags=re.MULTILINE)]
    assert missing == []


def test_public_names_have_one_home():
    for name in polyfold.__all__:
        assert getattr(polyfold, name) is not None
    assert list(polyfold.__all__) == sorted(polyfold.__all__)


def test_the_example_of_the_readme_runs_and_is_better_on_points_never_seen():
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL).group(1)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    X, X_new, y_new, accuracy = (names[name] for name in ("X", "X_new", "y_new", "clustering_accuracy"))
    assert not {row.tobytes() for row in X} & {row.tobytes() for row in X_new}
    ours, plain = (accuracy(y_new, names[name].predict(X_new)) for name in ("ours", "plain"))
    assert ours > 0.9
    assert ours > plain + 0.1
