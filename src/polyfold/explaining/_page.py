"""An explanation as one HTML page: no scripts, nothing to fetch."""

import base64
import html
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polyfold.explaining._explanation import Explanation

# Features of each part, and letters of a text that is shown as an example.
SHOWN, LETTERS = 5, 160

STYLE = """
:root { color-scheme: light dark; --line: #8b93a555; --up: #008df9; --down: #ff6e3a; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem } h2 { margin-top: 2.5rem } h3 { margin: 1.6rem 0 .3rem; font-size: 1.05rem }
h3 small { font-weight: normal; opacity: .7 }
table { border-collapse: collapse; width: 100%; font-size: .9rem } td, th { padding: .15rem .6rem .15rem 0 }
th { text-align: left; font-weight: normal; opacity: .7; border-bottom: 1px solid var(--line) }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
td.bar { width: 30% } td.bar div { height: .7rem; border-radius: 2px; background: var(--up) }
td.bar div.down { background: var(--down) }
.rows, .note { font-size: .9rem; opacity: .85 } img { max-width: 100% } .scroll { overflow-x: auto }
"""


def page_of(explanation: "Explanation", title: str) -> str:
    """Return the page as text."""
    tables = explanation.tables
    parts = []
    if "clusters" in tables:
        parts.append(_clusters(explanation))
    if "axes" in tables:
        parts.append(_axes(explanation))
    if "modules" in tables:
        parts.append(_modules(explanation))
    text = html.escape(title)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{text}</title>'
    body = f"<h1>{text}</h1>\n<p>{_summary(explanation)}</p>\n" + "\n".join(parts)
    head += f"<style>{STYLE}</style>"
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _summary(explanation: "Explanation") -> str:
    counts = []
    for plural, singular in (("clusters", "cluster"), ("axes", "axis"), ("modules", "module")):
        if plural in explanation.tables:
            count = len(set(explanation.parts(plural)))
            counts.append(f"{count} {singular if count == 1 else plural}")
    return f"{' and '.join(counts)} of {len(explanation.rows):,} rows, described by the features that set them apart."


def _clusters(explanation: "Explanation") -> str:
    table = explanation.tables["clusters"]
    note = (
        "The difference is that between the means inside and outside the cluster, in standard deviations, with a 95 % "
        "bootstrap interval. Differences of categories and words are between the fractions of rows that have them."
    )
    parts = ["<h2>Clusters</h2>", f'<p class="note">{note}</p>', _figure(explanation, "clusters")]
    for key in dict.fromkeys(explanation.parts("clusters")):
        entries = explanation.rows_of("clusters", key)
        size = int(table["size"][entries[0]])
        words = entries[table["kind"][entries] == "word"]
        entries = words if len(words) else entries[_is_certain(table)[entries]]
        entries = entries[np.argsort(table["rank"][entries], kind="stable")][:SHOWN]
        about = f"{key}, {size:,} {'row' if size == 1 else 'rows'}"
        heading = f"<h3>{html.escape(explanation.names[key])} <small>{html.escape(about)}</small></h3>"
        parts += [heading, _effects(table, entries), _examples(explanation, key)]
    return "\n".join(parts)


def _is_certain(table: dict[str, NDArray]) -> NDArray:
    """Return which differences are certain; of categories, only levels that are more frequent inside."""
    certain = np.sign(table["low"]) == np.sign(table["high"])
    return certain & ((table["kind"] != "category") | (table["effect"] > 0))


def _effects(table: dict[str, NDArray], entries: NDArray) -> str:
    largest = max(float(np.abs(table["effect"][entries]).max(initial=0)), 1e-9)
    rows = []
    for i in entries:
        name = f"{table['feature'][i]} {table['value'][i]}".strip()
        interval = f"{_number(table['effect'][i])} ({_number(table['low'][i])} to {_number(table['high'][i])})"
        shown = _percent if table["kind"][i] != "number" else _number
        cells = [interval, shown(table["inside"][i]), shown(table["outside"][i])]
        rows.append(_row(name, table["effect"][i] / largest, cells))
    return _table(["feature", "", "difference", "inside", "outside"], rows)


def _axes(explanation: "Explanation") -> str:
    table = explanation.tables["axes"]
    note = (
        "The strength is the fraction of the variance of the axis that a feature alone explains, for rows that the "
        "regression has not seen. Together: the same for all features up to this one."
    )
    parts = ["<h2>Axes</h2>", f'<p class="note">{note}</p>']
    parts += [_figure(explanation, "walk")] if explanation.images is not None else []
    for key in dict.fromkeys(explanation.parts("axes")):
        entries = explanation.rows_of("axes", key)
        entries = entries[
            (table["repeats"][entries] == "")
            & ((table["strength"] > table["null"]) | np.isfinite(table["joint"]))[entries]
        ]
        rows = []
        for i in entries[:SHOWN]:
            joint = "" if np.isnan(table["joint"][i]) else _percent(table["joint"][i])
            sign = -1 if table["shape"][i] == "falling" else 1
            cells = [_percent(table["strength"][i]), joint, html.escape(str(table["shape"][i]))]
            rows.append(_row(str(table["feature"][i]), sign * table["strength"][i], cells))
        heading = f"<h3>{html.escape(explanation.name_of(key))} <small>{html.escape(key)}, low → high</small></h3>"
        parts += [heading, _table(["feature", "", "strength", "together", "shape"], rows)]
        parts += [_examples(explanation, f"{key} {end}", f"{end} end") for end in ("low", "high")]
    return "\n".join(parts)


def _modules(explanation: "Explanation") -> str:
    table = explanation.tables["modules"]
    note = (
        "The strength is the fraction of the variance of a feature that the module explains; the advantage is over the "
        "mean of the other modules."
    )
    parts = ["<h2>Modules</h2>", f'<p class="note">{note}</p>']
    for key in dict.fromkeys(explanation.parts("modules")):
        entries = explanation.rows_of("modules", key)
        entries = entries[np.argsort(table["rank"][entries], kind="stable")][:SHOWN]
        rows = [
            _row(
                str(table["feature"][i]),
                table["strength"][i],
                [_percent(table["strength"][i]), _number(table["advantage"][i])],
            )
            for i in entries
        ]
        heading = f"<h3>{html.escape(explanation.names[key])} <small>{html.escape(key)}</small></h3>"
        parts += [heading, _table(["feature", "", "strength", "advantage"], rows)]
    return "\n".join(parts)


def _examples(explanation: "Explanation", key: str, label: str = "") -> str:
    """Return the typical rows of a part: their texts, their values, or their numbers if the columns have no names."""
    prefix = f"Typical rows, {label}: " if label else "Typical rows: "
    if texts := explanation.examples.get(key):
        short = [text if len(text) <= LETTERS else text[: LETTERS - 1] + "…" for text in texts]
        return (
            f'<div class="rows">{prefix}<ul>'
            + "".join(f"<li>{html.escape(text)}</li>" for text in short)
            + "</ul></div>"
        )
    numbers = ", ".join(str(row) for row in explanation.prototypes[key]["typical"])
    return f'<p class="rows">{prefix}{numbers}</p>'


def _figure(explanation: "Explanation", kind: Any) -> str:
    """Return a plot of images, which tables cannot show."""
    if explanation.images is None:
        return ""
    display, buffer = explanation.plot(kind, theme="light"), io.BytesIO()
    display.figure_.savefig(buffer, format="png", dpi=120)
    return f'<img alt="{kind}" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}">'


def _table(names: list[str], rows: list[str]) -> str:
    if not rows:
        return "<p>No feature differs by more than chance.</p>"
    head = "".join(f"<th{' class=n' if i > 1 else ''}>{name}</th>" for i, name in enumerate(names))
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _row(name: str, length: Any, cells: list[str]) -> str:
    width, side = 100 * min(abs(float(length)), 1), ' class="down"' if length < 0 else ""
    bar = f'<td class="bar"><div{side} style="width:{width:.0f}%"></div></td>'
    return f"<tr><td>{html.escape(name)}</td>{bar}" + "".join(f"<td class=n>{cell}</td>" for cell in cells) + "</tr>"


def _number(value: Any) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _percent(value: Any) -> str:
    return f"{100 * value:.0f} %"
