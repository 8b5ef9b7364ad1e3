"""Keys such as [Zhang2016] lead to a page that is made of `references.bib`."""

import re
from pathlib import Path
from typing import Any

ENTRY = re.compile(r"@\w+\{(\w+), (.*)\}$", flags=re.MULTILINE)
FIELD = re.compile(r"(\w+) = \{((?:[^{}]|\{[^{}]*\})*)\}")
KEY = re.compile(r"\[([A-Z][A-Za-z]+(?:19|20)\d\d)\]_?(?!\()")
ACCENTS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "~": "\u0303"}


def entries(bibtex: str) -> dict[str, dict[str, str]]:
    """Return the fields of every entry, one entry a line, by key."""
    return {key: {name: plain(text) for name, text in FIELD.findall(rest)} for key, rest in ENTRY.findall(bibtex)}


def plain(text: str) -> str:
    """Return BibTeX text with its accents set and its braces gone."""
    text = re.sub(r"\{\\(.)\{?(\w)\}?\}", lambda m: m[2] + ACCENTS[m[1]], text)
    return re.sub(r"[{}]", "", text).replace("--", "–")


def page(bibtex: str) -> str:
    """Return the page of references."""
    lines = ["References", "=========="]
    for key, item in sorted(entries(bibtex).items()):
        authors = "; ".join(item["author"].split(" and "))
        source = item.get("journal") or item.get("booktitle") or item.get("publisher") or item.get("school", "")
        lines += ["", f".. _ref-{key}:", "", f"**[{key}]** {authors}: *{item['title']}*. {source}, {item['year']}."]
    return "\n".join(lines) + "\n"


def link_markdown(app: Any, docname: str, source: list[str]) -> None:
    """Turn keys in a Markdown page into links."""
    if app.env.doc2path(docname).suffix == ".md":
        source[0] = KEY.sub(r"{ref}`[\1] <ref-\1>`", source[0])


def link_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn keys in a docstring into links."""
    lines[:] = [KEY.sub(r":ref:`[\1] <ref-\1>`", line) for line in lines]


def write(app: Any) -> None:
    """Write the page."""
    folder = Path(app.srcdir)
    (folder / "references.rst").write_text(page((folder / "references.bib").read_text()))


def setup(app: Any) -> dict[str, bool]:
    """Register."""
    app.connect("builder-inited", write)
    app.connect("source-read", link_markdown)
    app.connect("autodoc-process-docstring", link_docstring, priority=400)  # before numpydoc looks for citations
    return {"parallel_read_safe": True, "parallel_write_safe": True}
