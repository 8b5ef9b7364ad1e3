"""Plain English: banned constructions in everything people read, and sentence length in README and user guide."""

import ast
import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOP_PAGES = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "ARCHITECTURE", "SECURITY")]
PAGES = [*TOP_PAGES, *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
GUIDES = sorted((ROOT / "docs/guide").glob("*.md"))

# What to avoid -> what to write instead.
BANNED = {
    r"(?:^|[.:;] )Of (?!course)": "start with the subject",
    r"(?:^|[.;] )Where [^?]*?,": "If, for conditions",
    r"\b(?:says?|said|tells?|told|asks?|hears?|promises?)\b": "return, raise, show, state: code does not speak",
    r"\b(?:is|are) (?:asked|known to)\b": "code does not speak",
    r"\bnews\b": "new information, unpredictable from the earlier coordinates",
    r"\bwhat is left of\b": "residual",
    r"\bleft open\b": "unknown",
    r"\b(?:by|are|is|be) chance groups\b|\bgroups are chance\b": "the clustering is not stable",
    r"\bearly answers?\b": "neighbour vote",
    r"\bplac(?:ed|ing) (?!in\b|on\b|at\b)|\bplaces? (?:new|rows|points)\b": "transform, assign, index or interpolate",
    r"\b[Ss]hares? of\b": "fraction",
    r"\bwidths? of (?:a|the) kernel|\bkernel widths?\b|\bwidth to tune\b": "bandwidth",
    r"\bunits? of (?:the )?data\b": "scale",
    r"\bways? out\b": "solution, alternative, or what to do",
    r"\bcopies of (?:a |the )?(?:rows?|points?)\b|\bcopies among\b": "duplicate rows",
    r"\b[Pp]ictures?\b": "image, plot",
    r"\b(?:[Nn]obody|no one)\b": "name the subject",
    r"\bgo(?:es)? on\b|\bstarts? afresh\b": "continue, start again",
    r"\b(?:beside|hardly|for want of|but for)\b|\bso (?:many|much) (?!that\b|as\b)": "next to, barely, except",
    r"(?<![Tt]here )\b(?:is|are) no (?!longer|more|less|higher|lower|\w+er\b)": "is not a",
    r"\bwish(?:es)?\b": "requirement",
    r"\bthose (?:that|which) it was fitted to\b": "the training rows",
    r"\bin the place of\b|\bstands? for all\b": "instead of, replaces",
    r"\bfor ever\b|\bfrom within\b|\bof (?:its|their) own accord\b": "a plain word",
    r"\b(?:not|cannot|can) be had\b": "is not available",
    r";(?! \(\d)[^.;]*;(?! \(\d)[^.;]*\.": "two sentences: no chains of semicolons",
}
# Exact phrases that are right although they match.
ALLOWED = ("said to be",)


def prose(text: str) -> str:
    """Return the sentences of a Markdown page: without code, tables, comments, formulas, pictures and link targets."""
    text = re.sub(r"<!--.*?-->|^```.*?^```|^:::.*?$|^\$\$.*?\$\$$", "\n\n", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|^\|.*$|^#.*$", "\n\n", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "code", text)
    return re.sub(r"^\s*(?:[-*+]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)


def sentences(text: str) -> list[str]:
    """Split prose into sentences; a blank line, a full stop or a colon ends one."""
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    found = [s for part in paragraphs for s in re.split(r"(?<=[.!?:])[*_)\"”]* (?=[\"“(*_`A-Z0-9λ]|code)", part)]
    return [s for s in found if re.search(r"[A-Za-z]{2}", s)]


def words(sentence: str) -> int:
    """Count words; numbers and symbols alone are none."""
    return len(re.findall(r"[\w'’×-]*[A-Za-z][\w'’×-]*", sentence))


def strings(path: Path) -> list[str]:
    """Return docstrings and messages of a module: strings of at least four words that are not HTML or CSS."""
    joined = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "value" for part in node.values]
            joined.append("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            joined.append(node.value)
    texts = (re.sub(r"`[^`]*`|\\\\?;", "code", text) for text in joined)
    return [text for text in texts if len(text.split()) >= 4 and not re.search(r"</|\{[^}]*:[^}]*;", text)]


def faults(text: str) -> list[str]:
    """Return what is banned in a text, with what to write instead."""
    text = " ".join(text.split())
    for phrase in ALLOWED:
        text = text.replace(phrase, "")
    return [
        f"{text[max(0, m.start() - 40) : m.end() + 30]!r}: {advice}"
        for pattern, advice in BANNED.items()
        for m in re.finditer(pattern, text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_are_plain_english(page):
    text = re.sub(r"^\|", "\n", page.read_text(), flags=re.MULTILINE)
    assert [fault for part in re.split(r"\n\s*\n", prose(text)) for fault in faults(part)] == []


def test_docstrings_and_messages_are_plain_english():
    found = {str(p.relative_to(ROOT)): [f for text in strings(p) for f in faults(text)] for p in SOURCES}
    assert {path: f for path, f in found.items() if f} == {}


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs/getting-started.md", *GUIDES], ids=lambda p: p.stem)
def test_sentences_are_short(page):
    found = {s: words(s) for s in sentences(prose(page.read_text()))}
    assert [s for s, n in found.items() if n > 35] == []
    assert statistics.median(found.values()) <= 18


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.stem)
def test_guides_are_short(page):
    assert words(prose(page.read_text())) <= 1200


def test_peers_and_reproduction_are_summaries():
    for name in ("peers", "reproduction"):
        text = (ROOT / f"docs/{name}.md").read_text()
        assert len(re.findall(r"[\w'’×%.,-]*\w[\w'’×%.,-]*", text)) <= 1500


@pytest.mark.parametrize(
    "text",
    [
        "Of text, groups are read off.",
        "The page says so.",
        "Where rows are few, take more.",
        "The share of rows.",
        "A graph of all rows is no graph of some.",
        "It reads; it writes; it ends.",
    ],
)
def test_banned_constructions_are_seen(text):
    assert faults(text)


def test_sentences_and_words_are_counted():
    text = "# Title\n\nOne two three. Four `code` five:\n\n| a | table |\n\n- six seven\n\n```\ncode here\n```\n"
    assert [words(s) for s in sentences(prose(text))] == [3, 3, 2]
