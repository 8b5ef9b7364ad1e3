"""The picture of *How to choose*: questions on the left, what to take on the right, in the colours of the page.

It is made of text, so that it can be searched, read aloud and followed: every answer is a link.
"""

from html import escape
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

ROW, WIDTH, LEFT, RIGHT = 56, 760, 400, 290


def box(x: int, y: int, width: int, text: str, kind: str, link: str = "") -> str:
    """Return a box of one or two lines."""
    lines = text.split("\n")
    start = y + 20 - 8 * (len(lines) - 1) + 5
    words = "".join(
        f'<text x="{x + width // 2}" y="{start + 16 * i}">{escape(line)}</text>' for i, line in enumerate(lines)
    )
    shape = f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="40" rx="6"/>{words}'
    return f'<a href="{link}" class="answer">{shape}</a>' if link else shape


def arrow(x1: int, y1: int, x2: int, y2: int, word: str) -> str:
    """Return an arrow and the word beside it."""
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" marker-end="url(#flow-tip)"/>'
    at = ((x1 + x2) // 2, y1 - 5) if y1 == y2 else (x1 + 16, (y1 + y2) // 2 + 5)
    return f'{line}<text class="word" x="{at[0]}" y="{at[1]}">{word}</text>'


def chart(steps: list[tuple[str, str, str]], last: tuple[str, str]) -> str:
    """Return the picture of questions with their answers, and the answer when all are denied."""
    parts = []
    for i, (question, answer, link) in enumerate(steps):
        y = 8 + ROW * i
        parts += [box(8, y, LEFT, question, "question"), box(WIDTH - RIGHT - 8, y, RIGHT, answer, "choice", link)]
        parts.append(arrow(8 + LEFT, y + 20, WIDTH - RIGHT - 8, y + 20, "yes"))
        parts.append(arrow(8 + LEFT // 2, y + 40, 8 + LEFT // 2, y + ROW, "no"))
    y = 8 + ROW * len(steps)
    parts.append(box(8, y, LEFT, last[0], "choice", last[1]))
    tip = '<marker id="flow-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    tip += '<path d="M0,0 L8,4 L0,8 z"/></marker>'
    return (
        f'<div class="flow"><svg viewBox="0 0 {WIDTH} {y + 48}" role="group" aria-label="Which estimator to take, '
        f'question by question"><defs>{tip}</defs>{"".join(parts)}</svg></div>'
    )


class Flow(Directive):
    """Lines ``question -> answer -> page``; the last one is ``answer -> page``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        lines = [[part.strip().replace("\\n", "\n") for part in line.split("->")] for line in self.content if line]
        *steps, last = lines
        return [nodes.raw("", chart([(q, a, p) for q, a, p in steps], (last[0], last[1])), format="html")]


def setup(app: Any) -> dict[str, bool]:
    """Register."""
    app.add_directive("flow", Flow)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
