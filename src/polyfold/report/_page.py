"""One HTML page that needs nothing but itself: headings, text, tables, pictures."""

import base64
import html
import io
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Self

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2433; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .3rem .9rem; text-align: right; }
th { border-bottom: 2px solid #1d2433; } td { border-bottom: 1px solid #dde2ec; }
th:first-child, td:first-child { text-align: left; } td.best { background: #eaf3ea; font-weight: 600; }
figure { margin: 1rem 0; } img { max-width: 100%; } figcaption { color: #5a6478; font-size: .9rem; }
"""


class Page:
    """Collect parts, then write them as one file.

    Parameters
    ----------
    title : str

    Examples
    --------
    >>> from polyfold.report import Page
    >>> "<h2>Results</h2>" in Page("Demo").heading("Results").html()
    True
    """

    def __init__(self, title: str):
        self.title = title
        self._parts: list[str] = []

    def heading(self, text: str) -> Self:
        """Add a heading."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")
        return self

    def text(self, text: str) -> Self:
        """Add a paragraph."""
        self._parts.append(f"<p>{html.escape(text)}</p>")
        return self

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[Any]], *, best: Collection[tuple[int, int]] = ()
    ) -> Self:
        """Add a table; the cells `best`, pairs of row and column, are set off."""
        cells = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in header)
        body = ""
        for i, row in enumerate(rows):
            marks = [' class="best"' if (i, j) in best else "" for j in range(len(row))]
            body += f"<tr>{''.join(f'<td{m}>{html.escape(str(c))}</td>' for m, c in zip(marks, row, strict=True))}</tr>"
        self._parts.append(f"<table><tr>{cells}</tr>{body}</table>")
        return self

    def figure(self, figure: Any, caption: str) -> Self:
        """Add a matplotlib figure, stored inside the page."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=130, bbox_inches="tight")
        data = base64.b64encode(buffer.getvalue()).decode()
        self._parts.append(
            f'<figure><img src="data:image/png;base64,{data}" alt="{html.escape(caption)}">'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>"
        )
        return self

    def html(self) -> str:
        """Return the page as text."""
        title = html.escape(self.title)
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>{''.join(self._parts)}</body></html>\n"
        )

    def write(self, path: str | Path) -> Path:
        """Write the page and return its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.html(), encoding="utf-8")
        return path
