"""Formulas as MathML, which browsers draw themselves: no script, no host, and readable aloud.

A command that the converter does not know would be left in the page as text: it is an error here.
"""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import SphinxError

# A font with the tables that let brackets and sums grow; served from the site itself.
FONT = Path(str(files("ziamath.fonts") / "STIXTwoMath-Regular.ttf"))
# What stands below min and max in a displayed formula; the converter sets it beside them.
LIMITS = re.compile(r"<msub><mo>(min|max)</mo>(<mi>.</mi>|<mrow>.*?</mrow>)</msub>")


def to_mathml(latex: str, display: str) -> str:
    """Return a formula as one `<math>` element."""
    element = convert(latex.replace("\n", " ").strip(), display=display)
    element = element.replace(r">\|<", ">&#x2016;<")  # sized bars, which it leaves
    if display == "block":
        element = LIMITS.sub(r"<munder><mo>\1</mo>\2</munder>", element)
    if "\\" in element:
        raise SphinxError(f"the formula {latex!r} has a command that latex2mathml does not know: {element}")
    return element


def visit_inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(to_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.math_block) -> None:
    """Write a displayed formula, which scrolls where the screen is narrow."""
    writer.body.append(f'<div class="formula">{to_mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
