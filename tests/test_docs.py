"""Documents say what is true: keys resolve, links lead somewhere, docstrings list the parameters."""

import importlib
import inspect
import os
import re
from pathlib import Path

import pytest
import sklearn.datasets
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

import polyfold

pytest.importorskip("benchmarks", reason="the source distribution has no benchmarks")
from benchmarks.pages import blocks

ROOT = Path(__file__).parents[1]
KEY = re.compile(r"\[([A-Z][A-Za-z]+(?:19|20)\d\d)")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def documented():
    """Public classes and functions."""
    computing = ("estimators", "ensembles", "baselines", "metrics", "kernels")
    for package in (*computing, "datasets", "report", "saving", "sources"):
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


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_conflict_of_a_merge_is_left(page):
    assert not re.search(r"^(<{7}|>{7}) ", page.read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("thing", list(documented()))
def test_the_first_line_of_a_docstring_is_short(thing):
    assert len(inspect.getdoc(thing).split("\n")[0]) <= 80


@pytest.mark.parametrize("thing", list(documented()))
def test_docstring_names_every_parameter(thing):
    doc = inspect.getdoc(thing) or ""
    assert doc
    if "Parameters\n" not in doc:
        return  # refers to another class, or has none of its own
    section = doc.split("Parameters\n", 1)[1]
    names = [p for p in inspect.signature(thing).parameters if p not in ("self", "args", "kwargs") and p[0] != "_"]
    missing = [n for n in names if not re.search(rf"(^|[\s,]){n}(, \w+)* ?:", section, flags=re.MULTILINE)]
    assert missing == []


def test_public_names_have_one_home():
    for name in polyfold.__all__:
        assert getattr(polyfold, name) is not None
    assert list(polyfold.__all__) == sorted(polyfold.__all__)


def snippets(page, language="python"):
    """Code of a page in one piece, with the lines where they stand, so that errors name them."""
    lines = (ROOT / page).read_text().split("\n")
    kept, inside = [], False
    for line in lines:
        if line.startswith("```"):
            inside = not inside and line == f"```{language}"
            line = ""
        kept.append(line if inside else "")
    return "\n".join(kept)


def run(page, language="python"):
    names = {}
    exec(compile(snippets(page, language), page, "exec"), names)
    return names


def some_digits(*, return_X_y=False):
    """Every sixth digit: the code of a page runs as it stands, in a sixth of the time or less."""
    digits = load_digits()
    few = Bunch(**{**digits, "data": digits.data[::6], "target": digits.target[::6], "images": digits.images[::6]})
    return (few.data, few.target) if return_X_y else few


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # what a snippet writes
    monkeypatch.setattr(sklearn.datasets, "load_digits", some_digits)
    yield
    polyfold.show_progress(False)  # what a snippet switched on


WITH_CODE = [str(p.relative_to(ROOT)) for p in PAGES if "```python" in p.read_text() and p.name != "README.md"]


NEEDS_TORCH = "docs/guide/autoencoders.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.torch] if page == NEEDS_TORCH else []) for page in WITH_CODE]
)
def test_the_snippets_of_a_page_run_as_they_stand(page, elsewhere):
    run(page)


def test_the_snippets_about_data_run_where_the_data_are(elsewhere):
    if "POLYFOLD_DATA" not in os.environ:
        pytest.skip("POLYFOLD_DATA names no data folder")
    assert run("docs/guide/datasets.md", "py")["X"].shape == (70000, 784)


def test_snippets_keep_their_lines():
    line = snippets("README.md").split("\n").index("import polyfold as pf")
    assert (ROOT / "README.md").read_text().split("\n")[line] == "import polyfold as pf"


@pytest.mark.parametrize("page", sorted((ROOT / "docs/guide").glob("[!i]*.md")), ids=lambda p: p.stem)
def test_a_guide_opens_with_its_purpose_and_a_picture(page):
    opening = page.read_text().split("\n## ")[0]
    assert re.match(r"# .+\n\n[\w*]", opening), "the first paragraph says what it is for"
    assert "![" in opening
    assert "$" not in opening.split("![")[0]


@pytest.mark.slow
def test_the_examples_of_the_readme_print_what_the_page_shows():
    from benchmarks.studies.readme import examples

    assert examples() == blocks.results("readme")["examples"], "run `python -m benchmarks readme` and `make readme`"


def test_the_examples_of_the_readme_are_short():
    found = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(found) == 3
    assert all(len([line for line in code.splitlines() if line]) <= 6 for code in found)


@pytest.mark.parametrize("page", blocks.PAGES, ids=lambda p: p.name)
def test_figures_follow_from_the_results(page):
    text = page.read_text()
    assert blocks.renewed(text) == text, "run `make readme`"
    assert text.count("<!-- figures:") == text.count("<!-- end -->") == len(blocks.BLOCK.findall(text))


def test_an_old_figure_is_seen():
    text = (ROOT / "README.md").read_text()
    old = re.sub(r"(clusters given: NMI, % \| \D*)\d", r"\g<1>1", text)
    assert old != text
    assert blocks.renewed(old) == text
    with pytest.raises(KeyError, match="got 'guess'"):
        blocks.renewed("<!-- figures: guess -->\n<!-- end -->")


def test_no_measured_number_of_the_readme_is_typed():
    text = blocks.BLOCK.sub("", (ROOT / "README.md").read_text())
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    # Shares, ratios and percentages are measured; "Python ≥ 3.11" is not.
    typed = re.findall(r"\d+(?:\.\d+)? ?%|\d*\.\d+", text.replace("Python ≥ 3.11", ""))
    assert typed == []


MEASURED = re.compile(
    r"\d+\.\d+ ?%|\b\d+\.\d+ (?:times|CPU|seconds)|"
    r"\b(?:NMI|R²|accuracy|errors?|correlat\w+)\b(?![^.\n|]{0,60}\b(?:above|below)\b)[^.\n|]{0,60}\b0?\.\d+"
)


def typed_numbers(text):
    """Measured numbers outside of generated blocks, code and formulas."""
    text = re.sub(r"^```.*?^```", "", blocks.BLOCK.sub("", text), flags=re.DOTALL | re.MULTILINE)
    return MEASURED.findall(re.sub(r"`[^`]*`|\$[^$]*\$", "code", text))


@pytest.mark.parametrize("page", [p for p in blocks.PAGES if p.name != "README.md"], ids=lambda p: p.name)
def test_measured_numbers_are_in_generated_blocks(page):
    assert typed_numbers(page.read_text()) == []


def test_typed_numbers_are_seen():
    assert typed_numbers("It takes 12.2 % of the time, with an R² of 0.69.") == ["12.2 %", "R² of 0.69"]
    assert typed_numbers("A feature with a correlation above 0.95.\n```\nerror 0.5\n```\n") == []


def test_getting_started_prints_what_it_shows(elsewhere, capsys):
    page = "docs/getting-started.md"
    shown = re.findall(r"^# ((?:axis|cluster) .+)$", (ROOT / page).read_text(), flags=re.MULTILINE)
    run(page)
    printed = capsys.readouterr().out.splitlines()
    assert len(shown) == 7
    assert printed[: len(shown)] == shown
