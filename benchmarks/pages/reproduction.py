"""Write docs/reproduction.md and a page for every paper from docs/reproduction/results: ``make reproduction``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from polyfold.experiments._registry import Experiment, Paper, papers
from polyfold.experiments._report import FAILS, HOLDS, UNTESTED
from polyfold.experiments._tables import body, explained, shown, table

DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS = DOCS / "reproduction" / "results"
MARK = "<!-- Written by `python -m benchmarks.pages.reproduction` from the result files; edit those, not this. -->"

HEAD = """# The papers, reproduced

The tables and figures of the four papers that polyfold grew from, run by its public API and set beside the printed
numbers: {run} of {all}{left}. Nothing here is typed by hand: these pages are written from the files in
`docs/reproduction/results`, which hold every number with its seeds, its commit and the machine. Run any of them
yourself:

```text
polyfold reproduce --list
polyfold reproduce mbm-table2 --fast
polyfold reproduce all --out results
```

A run writes `<name>.json` with every number, `<name>.md` with the tables beside the paper's, and its figure as
`.png` and `.svg` into the folder `--out` (`polyfold-reproduce` unless given; `.fast` stands in the names). A paper's
name runs all of its experiments, `--seed` sets the first seed. What is finished is kept in `cells/` there, so that the
same command goes on where it was interrupted; `--fresh` computes it again. Other data or another seed want another
folder.

Sets are read from the folder that [`POLYFOLD_DATA`](guide/datasets.md) names; one that is not there is told, and the
rest runs. Sets marked as *regenerated* were made anew by the published recipes."""

CLAIMS = """## What the papers claim

Every comparative sentence that could be found, with what was observed; one that speaks of several sets is judged on
each. "A is ahead of B" holds where our mean over the draws has that sign, however small the difference (± its standard
error, where there are several draws; one draw has none), unless the sentence says *clearly* or names a number. Other
sentences need a threshold, ours, which stands with what was observed as *judged*. Where one does not hold, what was
measured about it stands there, in the experiment itself or in the one named."""


def results(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Read the results of full size by the names of their experiments."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return {result["name"]: result for result in found if result["size"] == "full"}


def pages(found: dict[str, dict[str, Any]]) -> dict[Path, str]:
    """Text of all pages, by their paths."""
    whole = {DOCS / "reproduction.md": overview(found)}
    return whole | {DOCS / "reproduction" / f"{paper.name}.md": paper_page(paper, found) for paper in papers().values()}


def overview(found: dict[str, dict[str, Any]]) -> str:
    """Return the page on all papers: how many claims hold, and each of them."""
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *(f"reproduction/{name}" for name in papers()), "```"])
    names = [name for paper in papers().values() for name in paper.experiments]
    missing = [name for name in names if name not in found]
    left = f"; not run in full yet: {', '.join(missing)}" if missing else ""
    parts = [MARK, HEAD.format(run=len(names) - len(missing), all=len(names), left=left), counts(found), CLAIMS]
    for paper in papers().values():
        mine = {name: found[name] for name in paper.experiments if name in found}
        if any(result["claims"] for result in mine.values()):
            parts += [f"### {paper.title}", claim_rows(paper, mine)]
    return "\n\n".join([*parts, toctree]) + "\n"


def counts(found: dict[str, dict[str, Any]]) -> str:
    """Count verdicts and experiments of every paper."""
    rows = []
    for paper in papers().values():
        verdicts = [c["verdict"] for name in paper.experiments for c in found.get(name, {}).get("claims", [])]
        n = {verdict: verdicts.count(verdict) for verdict in (HOLDS, FAILS, UNTESTED)}
        testable = n[HOLDS] + n[FAILS]
        share = f"{100 * n[HOLDS] / testable:.0f} %" if testable else "–"
        run = sum(name in found for name in paper.experiments)
        link = f"[{paper.title}](reproduction/{paper.name}.md) [{paper.key}]"
        rows.append([link, f"{run} of {len(paper.experiments)}", *(str(count) for count in n.values()), share])
    return table(["paper", "run in full", HOLDS, FAILS, UNTESTED, "of those tested, hold"], rows)


def claim_rows(paper: Paper, found: dict[str, dict[str, Any]]) -> str:
    """All claims of one paper, those that do not hold first, with links to their experiments."""
    order = (FAILS, HOLDS, UNTESTED)
    claims = [(name, claim) for name, result in found.items() for claim in result["claims"]]
    claims.sort(key=lambda pair: order.index(pair[1]["verdict"]))
    rows = [
        [
            c["statement"],
            c["source"],
            f"**{c['verdict']}**",
            explained({**c, "see": "" if c["see"] == name else c["see"]}),
            f"[{name}](reproduction/{paper.name}.md#{name})",
        ]
        for name, c in claims
    ]
    head = ["claim", "where", "verdict", "observed", "experiment"]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * 5, *rows])


def paper_page(paper: Paper, found: dict[str, dict[str, Any]]) -> str:
    """Return the page of one paper: its sets, and every table and figure."""
    parts = [MARK, f"# {paper.title} [{paper.key}]", paper.note]
    for experiment in paper.experiments.values():
        parts += section(experiment, found.get(experiment.name))
    return "\n\n".join(parts) + "\n"


def section(experiment: Experiment, result: dict[str, Any] | None) -> list[str]:
    """Return question, setting, expectation and what was found, as paragraphs."""
    parts = [f"## {experiment.name}", f"**{experiment.title}**", f"*Question.* {experiment.question}"]
    parts += [f"*Setting.* {experiment.setting}", f"*Expected.* {experiment.expected}"]
    if result is None:
        return [*parts, f"Not run in full yet; `polyfold reproduce {experiment.name}` does."]
    figure = f"results/{experiment.name}.png" if result["panels"] else None
    return [*parts, *body(result, figure), provenance(result)]


def provenance(result: dict[str, Any]) -> str:
    """Say where the numbers of a result come from, and what they cost."""
    commits = ", ".join(dict.fromkeys(str(context["commit"]) for context in result["contexts"]))
    machines = "; ".join(dict.fromkeys(context["machine"] for context in result["contexts"]))
    settings = ", ".join(f"{name} {shown(value)}" for name, value in result["settings"].items())
    seeds = ", ".join(map(str, result["seeds"]))
    file = f"[{result['name']}.json](results/{result['name']}.json)"
    return f"*{file}: {settings}; seeds {seeds}; {result['cpu seconds'] / 60:.1f} CPU minutes; {commits}; {machines}.*"


def main() -> None:
    """Write all pages."""
    for path, text in pages(results()).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
