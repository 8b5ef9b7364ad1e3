"""Docstrings that scikit-learn's classes hand down refer to its own pages; here those references are plain text."""

import re
from typing import Any

ELSEWHERE = re.compile(r":(?:ref|term|doc):`([^`<]+?)(?:\s*<[^`>]*>)?`")


def unlink(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Leave the words of references that only scikit-learn's documentation could resolve."""
    if str(getattr(thing, "__module__", "")).startswith("sklearn") or "sklearn" in inherited_from(thing):
        lines[:] = [ELSEWHERE.sub(r"\1", line) for line in lines]


def inherited_from(thing: Any) -> str:
    """Return the file that defines a function, or nothing."""
    code = getattr(getattr(thing, "__func__", thing), "__code__", None)
    return code.co_filename if code else ""


def setup(app: Any) -> dict[str, bool]:
    """Register."""
    app.connect("autodoc-process-docstring", unlink, priority=300)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
