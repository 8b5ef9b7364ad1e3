"""Plain English: banned constructions in everything people read, lengths of sentences and pages."""

import ast
import io
import re
import statistics
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOP_PAGES = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "ARCHITECTURE", "SECURITY")]
PAGES = [*TOP_PAGES, *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN = [page for page in PAGES if not page.read_text().startswith("<!-- Written by")]  # by hand
SOURCES = sorted((ROOT / "src").rglob("*.py"))
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
EXPLORER = [p for p in sorted((ROOT / "src/polyfold/report/page").glob("*.[jh]*")) if ".min." not in p.name]
GUIDES = sorted((ROOT / "docs/guide").glob("*.md"))
EXPLANATIONS = sorted((ROOT / "docs/explanations").glob("*.md"))

# What to avoid -> what to write instead.
BANNED = {
    r"(?:^|[.:;] )Of (?!course)": "start with the subject",
    r"(?:^|[.;] )Where [^?]*?,": "If, for conditions",
    r"\bwhere (?:there (?:is|are)|(?:that|this|none|nothing|no|both|all|neither) \w+s?\b|possible|not\b)": "if",
    r"\b(?:says?|said|tells?|told|asks?|hears?|promises?)\b": "return, raise, show, state: code does not speak",
    r"\b(?:is|are) known to\b|\basked\b(?! questions)|\bunasked\b": "given, required: code does not speak",
    r"\bnews\b": "new information, unpredictable from the earlier coordinates",
    r"\b[Ww]hat is (?:left|known|unknown|special)\b": "residual, or the noun that is meant",
    r"\bleft open\b": "unknown",
    r"\b(?:by|are|is|be) chance groups\b|\bgroups are chance\b": "the clustering is not stable",
    r"\bearly answers?\b": "neighbour vote",
    r"\bplac(?:ed|ing) (?!in\b|on\b|at\b)|\bplaces? (?:new|rows|points)\b": "transform, assign, index or interpolate",
    r"\b[Ss]hares? of\b|\b(?:joint|largest|this) shares?\b": "fraction",
    r"\bwidths? of (?:a|the) kernel|\b(?:kernel|inverse|squared) widths?\b|\bwidth to tune\b": "bandwidth",
    r"\bunits? of (?:the )?data\b": "scale",
    r"\bways? out\b": "solution, alternative, or what to do",
    r"\bcopies of (?:a |the )?(?:rows?|points?)\b|\bcopies among\b": "duplicate rows",
    r"\b[Pp]ictures?\b": "image, plot",
    r"\b(?:[Nn]obody|no one)\b": "name the subject",
    r"\bgo(?:es)? on\b|\bstarts? afresh\b": "continue, start again",
    r"\b(?:beside|hardly|for want of|but for)\b|\bso (?:many|much) (?!that\b|as\b)": "next to, barely, except",
    r"(?<![Tt]here )\b(?:is|are) no (?!longer|more|less|higher|lower|\w+er\b)": "is not a",
    r"\bwish(?:es)?\b": "requirement",
    r"\b(?:besides|anew|thereof|lest|whence|alike)\b": "in addition, again, equal",
    r"\bin (?:the )?place of\b|\bin (?:its|their) place\b|\bhas no place\b": "instead of",
    r"\bstands? (?:for|in|at|on|between)\b": "represents, is",
    r"\bmakes? up for\b|\bat home\b|\bin (?:\w+'s|the) manner\b": "compensates, in the style of",
    r"\bthose (?:that|which) it was fitted to\b": "the training rows",
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
    """Return docstrings and messages of a module: strings of at least four words, without tags, not CSS."""
    joined = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "value" for part in node.values]
            joined.append("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            joined.append(node.value)
    texts = (re.sub(r"<[^<>]*>", " ", re.sub(r"`[^`]*`|\\\\?;", "code", text)) for text in joined)
    return [text for text in texts if len(text.split()) >= 4 and not re.search(r"\{[^}]*:[^}]*;", text)]


def comments(path: Path) -> list[str]:
    """Return the comments of a module; those on neighbouring lines are one."""
    found: list[tuple[int, int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            text = re.sub(r"`[^`]*`", "code", token.string.lstrip("#: "))
            before = found.pop()[2] if found and found[-1][:2] == (line - 1, column) else ""
            found.append((line, column, f"{before} {text}".strip()))
    return [text for *_, text in found]


def page_texts(path: Path) -> list[str]:
    """Return the texts and comments of a script or page of the explorer, of at least four words."""
    text = path.read_text()
    if path.suffix == ".html":
        text = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
        found = [*re.findall(r'="([^"]*)"', text), *re.findall(r">([^<>]+)<", text)]
    else:
        quoted = r'//[ ]*([^\n]+)|/\*(.*?)\*/|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`'
        found = ["".join(groups) for groups in re.findall(quoted, text, flags=re.DOTALL)]
    texts = (re.sub(r"<[^<>]*>|\$\{[^{}]*\}", " value ", text) for text in found)
    return [text for text in texts if len(text.split()) >= 4]


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
    text = re.sub(r"^\||^#+ ", "\n", page.read_text(), flags=re.MULTILINE)  # tables and headings, too
    assert [fault for part in re.split(r"\n\s*\n", prose(text)) for fault in faults(part)] == []


def test_docstrings_messages_and_comments_are_plain_english():
    found = {str(p.relative_to(ROOT)): [f for t in (*strings(p), *comments(p)) for f in faults(t)] for p in SOURCES}
    assert {path: f for path, f in found.items() if f} == {}


@pytest.mark.parametrize("path", EXPLORER, ids=lambda p: p.name)
def test_texts_of_the_explorer_are_plain_english(path):
    assert [fault for text in page_texts(path) for fault in faults(text)] == []


def test_examples_are_plain_english():
    found = {p.name: [f for text in (*strings(p), *comments(p)) for f in faults(text)] for p in EXAMPLES}
    assert {path: f for path, f in found.items() if f} == {}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: str(p.relative_to(ROOT)))
def test_sentences_are_short(page):
    found = {s: words(s) for s in sentences(prose(page.read_text()))}
    assert [s for s, n in found.items() if n > 35] == []
    assert statistics.median([*found.values(), 0]) <= 18


@pytest.mark.parametrize("page", [*GUIDES, *EXPLANATIONS], ids=lambda p: p.stem)
def test_guides_and_explanations_are_short(page):
    assert len(page.read_text().split()) <= 1200  # with code and tables


@pytest.mark.parametrize("page", [p for p in GUIDES if p.stem != "index"], ids=lambda p: p.stem)
def test_guides_list_their_limits(page):
    assert re.search(r"^## Limits\n\n- ", page.read_text(), flags=re.MULTILINE)


def test_peers_and_reproduction_are_summaries():
    for name in ("peers", "reproduction"):
        text = (ROOT / f"docs/{name}.md").read_text()
        assert len(text.split()) <= 1500


@pytest.mark.parametrize(
    "text",
    [
        "Of text, groups are read off.",
        "The page says so.",
        "Where rows are few, take more.",
        "The share of rows.",
        "A graph of all rows is no graph of some.",
        "It reads; it writes; it ends.",
        "Zero where there is none.",
        "What is left on the diagonal.",
        "The number asked for.",
        "The joint share grows.",
        "A row that stands for a cluster.",
        "The median in place of missing values.",
    ],
)
def test_banned_constructions_are_seen(text):
    assert faults(text)


def test_sentences_and_words_are_counted():
    text = "# Title\n\nOne two three. Four `code` five:\n\n| a | table |\n\n- six seven\n\n```\ncode here\n```\n"
    assert [words(s) for s in sentences(prose(text))] == [3, 3, 2]


def test_comments_and_texts_of_scripts_are_read(tmp_path):
    code = tmp_path / "code.py"
    code.write_text("x = 1  # one short comment\n# first line\n# second line\n")
    assert comments(code) == ["one short comment", "first line second line"]
    script = tmp_path / "page.js"
    script.write_text('// a comment of words\nshow("one two three four", `${n} of the rows`);\n')
    assert page_texts(script) == ["a comment of words", "one two three four", " value  of the rows"]
    page = tmp_path / "page.html"
    page.write_text('<p title="a title of words">some text to read</p><script>let a = "b c d e";</script>')
    assert page_texts(page) == ["a title of words", "some text to read"]
