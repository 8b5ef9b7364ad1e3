"""Write docs/reproduction.md and a page for every paper from papers/results: ``make reproduce``, ``make readme``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from papers.markdown import body, explained, shown, table
from papers.registry import Experiment, Paper, papers
from papers.report import FAILS, HOLDS, UNTESTED
from papers.runner import RESULTS

DOCS = Path(__file__).resolve().parents[2] / "docs"
MARK = "<!-- Written by `python -m benchmarks.pages.reproduction` from the result files; edit those, not this. -->"

HEAD = """# The papers, reproduced

These pages compare the tables and figures of the four papers behind polyfold with our own runs: {run} of
{all}{left}. They are written from the files in `papers/results`, which hold every number with its seeds, commit and
machine. The experiments are in the folder `papers` of the repository, not in the installed package. Run them from the
root of a clone:

```text
python -m papers list
python -m papers mbm-table2 --fast
python -m papers all --out papers/results
```

A run writes three files to the folder `--out` (default: `papers-results`): `<name>.json` with the numbers, `<name>.md`
with the tables next to the paper's, and `<name>.png` with the figure. With `--fast`, the names contain `.fast`. The
name of a paper runs all of its experiments, and `--seed` sets the first seed. Finished parts are stored in
`cells/` of that folder. If a run is interrupted, the same command continues it; `--fresh` computes everything again.
Use another folder for other data or another seed.

The data folder is set by [`POLYFOLD_DATA`](guide/datasets.md#data-sets-of-the-papers). A missing data set is reported,
and the other parts still run. Sets marked *regenerated* were generated again by the published recipes."""

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
        return [*parts, f"Not run in full yet; run `python -m papers {experiment.name}`."]
    figure = f"../../papers/results/{experiment.name}.png" if result["panels"] else None
    return [*parts, *body(result, figure), provenance(result)]


def provenance(result: dict[str, Any]) -> str:
    """Say where the numbers of a result come from, and what they cost."""
    commits = ", ".join(dict.fromkeys(str(context["commit"]) for context in result["contexts"]))
    machines = "; ".join(dict.fromkeys(context["machine"] for context in result["contexts"]))
    settings = ", ".join(f"{name} {shown(value)}" for name, value in result["settings"].items())
    seeds = ", ".join(map(str, result["seeds"]))
    file = f"[{result['name']}.json](../../papers/results/{result['name']}.json)"
    return f"*{file}: {settings}; seeds {seeds}; {result['cpu seconds'] / 60:.1f} CPU minutes; {commits}; {machines}.*"


def main() -> None:
    """Write all pages."""
    for path, text in pages(results()).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
