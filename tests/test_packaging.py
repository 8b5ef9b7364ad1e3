"""What a release needs: links that work outside the repository, a changelog, a citation and matching versions."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOME = PROJECT["project"]["urls"]["Source"]
LINK = re.compile(r"\]\(([^)\s]+)|(?:src|href)=[\"']([^\"']+)|^\[[^\]]+\]:\s*(\S+)", flags=re.MULTILINE)
CHANGES = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}

in_repository = pytest.mark.skipif(
    not (ROOT / ".github").exists(), reason="the source distribution leaves out images, results and workflows"
)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def links(text):
    return ["".join(groups) for groups in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))]


def relative(text):
    return [link for link in links(text) if not link.startswith(("https://", "#"))]


def dead(text):
    """Links into the repository that lead to no file."""
    paths = re.findall(rf"{re.escape(HOME)}/(?:blob|tree|raw)/main/([^\s)#\"']+)", text)
    return [path for path in paths if not (ROOT / path).exists()]


def changelog_errors(text):
    """Sections and references that are not in the Keep a Changelog form."""
    versions = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    named = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d|Unreleased)", version) for version in versions]
    errors = [f"section {version}" for version, match in zip(versions, named, strict=True) if match is None]
    numbers = [match[1] for match in named if match]
    ordered = sorted(set(numbers), key=lambda number: tuple(map(int, number.split("."))), reverse=True)
    errors += ["order"] * (numbers != ordered)
    errors += [
        f"reference of {number}" for number in numbers if f"\n[{number}]: {HOME}/releases/tag/v{number}" not in text
    ]
    kinds = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
    return errors + [f"heading {kind}" for kind in kinds if kind not in CHANGES]


def released():
    """The newest version of the changelog with a date; before the first release, the first version."""
    sections = re.findall(r"^## \[([\d.]+)\] - (.+)$", read("CHANGELOG.md"), flags=re.MULTILINE)
    return next((number for number, date in sections if date != "Unreleased"), sections[0][0])


def test_the_readme_has_absolute_links_only():
    assert len(links(read("README.md"))) > 5
    assert relative(read("README.md")) == []


@in_repository
@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_absolute_links_into_the_repository_lead_to_files(page):
    assert dead(read(page)) == []


@pytest.mark.parametrize("text", ["[a](docs/a.md)", "![a](a.png)", '<img src="a.png">', "[a]: docs/a.md"])
def test_a_relative_link_is_found(text):
    assert len(relative(text)) == 1
    assert relative(f"```\n{text}\n```") == []


def test_a_dead_link_is_found():
    assert dead(f"[a]({HOME}/blob/main/nowhere.md#top)") == ["nowhere.md"]
    assert dead(f"[a]({HOME}/blob/main/README.md#top)") == []


def test_there_is_one_name_for_the_repository():
    assert all(url.startswith(HOME) for url in PROJECT["project"]["urls"].values())
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= set(PROJECT["project"]["urls"])


def test_the_changelog_has_the_common_form():
    assert changelog_errors(read("CHANGELOG.md")) == []


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("## [0.1.0] - Unreleased", "## 0.1.0", "section 0.1.0"),
        ("### Added", "### News", "heading News"),
        ("\n[0.1.0]: ", "\n[0.1]: ", "reference of 0.1.0"),
        ("## [0.1.0]", "## [0.1.0] - Unreleased\n\n## [0.1.0]", "order"),
    ],
)
def test_a_malformed_changelog_is_found(old, new, error):
    text = f"# Changelog\n\n## [0.1.0] - Unreleased\n\n### Added\n\n- A.\n\n[0.1.0]: {HOME}/releases/tag/v0.1.0\n"
    assert changelog_errors(text) == []
    assert changelog_errors(text.replace(old, new)) == [error]


def test_a_copy_without_tags_is_a_development_version_of_a_version_in_the_changelog():
    fallback = PROJECT["tool"]["hatch"]["version"]["fallback-version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+\.dev0", fallback)
    number = tuple(map(int, fallback.removesuffix(".dev0").split(".")))
    assert number >= tuple(map(int, released().split(".")))


def test_the_citation_names_the_released_version_and_the_four_papers():
    citation = pytest.importorskip("yaml").safe_load(read("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "license", "repository-code"} <= set(citation)
    assert citation["version"] == released()
    assert citation["repository-code"] == HOME
    assert citation["license"] == PROJECT["project"]["license"]
    papers = {reference["title"] for reference in citation["references"]}
    bibliography = read("docs/references.bib")
    assert len(papers) == 4
    assert all(f"title = {{{title}}}" in bibliography and title in read("README.md") for title in papers)


@in_repository
def test_the_classifiers_are_the_versions_and_systems_that_are_tested():
    yaml = pytest.importorskip("yaml")
    matrix = yaml.safe_load(read(".github/workflows/tests.yml"))["jobs"]["test"]["strategy"]["matrix"]
    classifiers = PROJECT["project"]["classifiers"]
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", name) for name in classifiers]
    assert [match[1] for match in found if match] == matrix["python"]
    assert PROJECT["project"]["requires-python"] == f">={matrix['python'][0]}"
    assert len(matrix["os"]) == sum(name.startswith("Operating System ::") for name in classifiers) == 3


@in_repository
def test_workflows_call_scripts_and_targets_that_exist():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")]
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), flags=re.MULTILINE))
    called = {target for text in texts for target in re.findall(r"run: make ([\w-]+)", text)}
    assert called
    assert called <= targets
    assert all((ROOT / script).exists() for text in texts for script in re.findall(r"\.ci/\w+", text))


def test_the_source_distribution_is_a_list_of_what_exists():
    include = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"/src", "/tests"} <= set(include)
    assert [path for path in include if not any(ROOT.glob(path.lstrip("/")))] == []
