"""Write reports as Markdown: tables of *paper / ours / difference*, and claims with their verdicts."""

from collections.abc import Iterable, Sequence
from typing import Any

DASH = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def beside_paper(found: dict[str, Any]) -> str:
    """Return one table of a report; every cell is *paper / ours / difference*."""
    entries = {tuple(entry["labels"]): entry for entry in found["entries"]}
    rows = list(dict.fromkeys(labels[:-1] for labels in entries))
    columns = list(dict.fromkeys(labels[-1] for labels in entries))
    printed = any(entry["paper"] is not None for entry in entries.values())
    cell = _compared if printed else _ours
    body = [
        [", ".join(row) or "value", *(cell(entries.get((*row, column)), found["digits"]) for column in columns)]
        for row in rows
    ]
    note = "paper / ours / difference" if printed else "ours; the paper prints no numbers"
    return f"**{found['title']}** ({note})\n\n{table(['', *columns], body)}"


def _compared(entry: dict[str, Any] | None, digits: int) -> str:
    if entry is None:
        return ""
    paper, ours = entry["paper"], entry["ours"]
    difference = f"{ours - paper:+.{digits}f}" if ours is not None and paper is not None else DASH
    return f"{DASH if paper is None else f'{paper:.{digits}f}'} / {_ours(entry, digits)} / {difference}"


def _ours(entry: dict[str, Any] | None, digits: int) -> str:
    if entry is None:
        return ""
    ours, spread = entry["ours"], entry["spread"]
    return DASH if ours is None else f"{ours:.{digits}f}" + (f" ± {spread:.{digits}f}" if spread is not None else "")


def claims_table(claims: Iterable[dict[str, Any]]) -> str:
    """Return the claims of one experiment with verdict and evidence."""
    rows = [[c["statement"], c["source"], f"**{c['verdict']}**", explained(c)] for c in claims]
    return "\n".join("| " + " | ".join(row) + " |" for row in [["claim", "where", "verdict", "observed"], *_rule(rows)])


def explained(claim: dict[str, Any]) -> str:
    """Return the observation, and the reason if the claim does not hold."""
    see = f" (see {claim['see']})" if claim["see"] else ""
    return f"{claim['evidence']}. {claim['why']}{see}".strip() if claim["why"] or see else claim["evidence"]


def _elsewhere(claim: dict[str, Any], name: str) -> dict[str, Any]:
    """Remove the reference of a claim to its own experiment."""
    return {**claim, "see": ""} if claim["see"] == name else claim


def _rule(rows: list[list[str]]) -> list[list[str]]:
    return [["---"] * 4, *rows]


def as_markdown(result: dict[str, Any], figure: str | None = None) -> str:
    """Return the whole result of one experiment."""
    parts = [f"# {result['title']}", f"*Question.* {result['question']}", f"*Setting.* {result['setting']}"]
    parts += [f"*Expected.* {result['expected']}", f"*This run.* {_size(result)}"]
    parts += body(result, figure)
    return "\n\n".join(parts) + "\n"


def _size(result: dict[str, Any]) -> str:
    """Return size, settings, seeds and commits of a run."""
    settings = ", ".join(f"{name} {shown(value)}" for name, value in result["settings"].items())
    commits = ", ".join(dict.fromkeys(str(context["commit"]) for context in result["contexts"]))
    return f"Size {result['size']!r}. Settings: {settings}. Seeds: {shown(result['seeds'])}. Commit: {commits}."


def shown(value: Any) -> str:
    """Return a setting as text."""
    return " / ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def body(result: dict[str, Any], figure: str | None = None) -> list[str]:
    """Return tables, figure, claims and remarks as paragraphs."""
    parts = [beside_paper(one) for one in result["tables"]]
    if figure is not None:
        parts.append(f"![{result['title']}]({figure})")
    if result["claims"]:
        parts.append(claims_table(_elsewhere(one, result["name"]) for one in result["claims"]))
    parts += result["remarks"]
    parts += [f"Left out: {sentence}" for sentence in result["missing"]]
    return parts
