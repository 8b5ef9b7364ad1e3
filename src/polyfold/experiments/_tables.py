"""Reports as Markdown: tables of *paper / ours / difference*, and claims with their verdicts."""

from collections.abc import Iterable, Sequence
from typing import Any

DASH = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def beside_paper(found: dict[str, Any]) -> str:
    """One table of a report, every cell *paper / ours / difference*."""
    entries = {tuple(entry["labels"]): entry for entry in found["entries"]}
    rows = list(dict.fromkeys(labels[:-1] for labels in entries))
    columns = list(dict.fromkeys(labels[-1] for labels in entries))
    body = [
        [", ".join(row) or "value", *(_compared(entries.get((*row, column)), found["digits"]) for column in columns)]
        for row in rows
    ]
    return f"**{found['title']}** (paper / ours / difference)\n\n{table(['', *columns], body)}"


def _compared(entry: dict[str, Any] | None, digits: int) -> str:
    if entry is None:
        return ""
    paper, ours, spread = entry["paper"], entry["ours"], entry["spread"]
    known = ours is not None
    shown = DASH if not known else f"{ours:.{digits}f}" + (f" ± {spread:.{digits}f}" if spread is not None else "")
    difference = f"{ours - paper:+.{digits}f}" if known and paper is not None else DASH
    return f"{DASH if paper is None else f'{paper:.{digits}f}'} / {shown} / {difference}"


def claims_table(claims: Iterable[dict[str, Any]]) -> str:
    """Claims of one experiment with verdict and evidence."""
    rows = [[c["statement"], c["source"], f"**{c['verdict']}**", explained(c)] for c in claims]
    return "\n".join("| " + " | ".join(row) + " |" for row in [["claim", "where", "verdict", "observed"], *_rule(rows)])


def explained(claim: dict[str, Any]) -> str:
    """Say what was observed, and the reason where the claim does not hold."""
    see = f" (see {claim['see']})" if claim["see"] else ""
    return f"{claim['evidence']}. {claim['why']}{see}".strip() if claim["why"] or see else claim["evidence"]


def _rule(rows: list[list[str]]) -> list[list[str]]:
    return [["---"] * 4, *rows]


def as_markdown(result: dict[str, Any], figure: str | None = None) -> str:
    """Write the whole result of one experiment."""
    parts = [f"# {result['title']}", f"*Question.* {result['question']}", f"*Setting.* {result['setting']}"]
    parts.append(f"*Expected.* {result['expected']}")
    parts += body(result, figure)
    return "\n\n".join(parts) + "\n"


def body(result: dict[str, Any], figure: str | None = None) -> list[str]:
    """Tables, figure, claims and remarks, as paragraphs."""
    parts = [beside_paper(one) for one in result["tables"]]
    if figure is not None:
        parts.append(f"![{result['title']}]({figure})")
    if result["claims"]:
        parts.append(claims_table(result["claims"]))
    parts += result["remarks"]
    parts += [f"Left out: {sentence}" for sentence in result["missing"]]
    return parts
