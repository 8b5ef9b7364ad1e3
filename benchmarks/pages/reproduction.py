"""Write docs/reproduction.md and a page for every paper from papers/results: ``make reproduce``, ``make readme``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from papers.markdown import body, shown, table
from papers.registry import Experiment, Paper, papers
from papers.report import FAILS, HOLDS, UNTESTED
from papers.runner import RESULTS

DOCS = Path(__file__).resolve().parents[2] / "docs"
MARK = "<!-- Written by `python -m benchmarks.pages.reproduction` from the result files; edit those, not this. -->"

HEAD = """# Reproduction of the papers

We repeated {run} of the {all} tables and figures of the four papers behind polyfold{left}. For every comparative claim
that we found in a paper, a verdict states whether it holds in our runs. Each paper has a page with all tables, figures
and claims, our numbers next to the printed ones. "Cannot be tested" counts claims about data sets that we do not
have."""

RULES = """## How claims are judged

- "A is better than B" holds if our mean over the random draws has that sign, however small the difference.
- A claim with the word *clearly* or with a number must reach that difference.
- For claims such as "about equal", we set a threshold. It is written after the observation, as *judged*.
- A claim about several data sets is judged on each of them.
- Data sets marked *regenerated* were generated again by the published recipes.

## Claims that do not hold

MBM is the algorithm for modular kernel PCA. MBN is a multilayer bootstrap network, and its student is a small network
that reproduces it. Non-redundant coordinates are compared with plain ones, and with those that Dsilva et al. select.
In "x against y", the claim is that x is larger. The linked pages give reasons, if we found them."""

USAGE = """## Run the experiments

The experiments are in the folder `papers` of the repository, not in the installed package. Run them from the root of a
clone:

```text
python -m papers list
python -m papers mbm-table2 --fast
python -m papers all --out papers/results
```

- A run writes `<name>.json` (numbers), `<name>.md` (tables next to the paper's) and `<name>.png` (figure) to the folder
  `--out`. The default is `papers-results`. With `--fast`, the names contain `.fast`.
- The name of a paper, such as `mbm`, runs all of its experiments. `--seed` sets the first seed.
- If a run is interrupted, the same command continues it. `--fresh` computes everything again.
- [`POLYFOLD_DATA`](guide/datasets.md#data-sets-of-the-papers) sets the data folder. A missing data set is reported, and
  the other parts still run.

The stored results in `papers/results` contain every number with its seeds, commit and machine."""


def results(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Read the results of full size by the names of their experiments."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return {result["name"]: result for result in found if result["size"] == "full"}


def pages(found: dict[str, dict[str, Any]]) -> dict[Path, str]:
    """Text of all pages, by their paths."""
    whole = {DOCS / "reproduction.md": overview(found)}
    return whole | {DOCS / "reproduction" / f"{paper.name}.md": paper_page(paper, found) for paper in papers().values()}


def overview(found: dict[str, dict[str, Any]]) -> str:
    """Return the page on all papers: how many claims hold, and those that do not."""
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *(f"reproduction/{name}" for name in papers()), "```"])
    names = [name for paper in papers().values() for name in paper.experiments]
    missing = [name for name in names if name not in found]
    left = f"; not run in full yet: {', '.join(missing)}" if missing else ""
    head = HEAD.format(run=len(names) - len(missing), all=len(names), left=left)
    return "\n\n".join([MARK, head, counts(found), RULES, failures(found), USAGE, toctree]) + "\n"


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


def failures(found: dict[str, dict[str, Any]]) -> str:
    """List the claims that do not hold, with links to their experiments."""
    rows = [
        [claim["statement"], claim["evidence"], f"[{claim['source']}](reproduction/{paper.name}.md#{name})"]
        for paper in papers().values()
        for name in paper.experiments
        for claim in found.get(name, {}).get("claims", [])
        if claim["verdict"] == FAILS
    ]
    return "\n".join(
        "| " + " | ".join(row) + " |" for row in [["claim", "observed here", "in the paper"], ["---"] * 3, *rows]
    )


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
    """Return the source of the numbers of a result, and their cost."""
    commits = ", ".join(dict.fromkeys(str(context["commit"]) for context in result["contexts"]))
    machines = "; ".join(dict.fromkeys(context["machine"] for context in result["contexts"]))
    settings = ", ".join(f"{name} {shown(value)}" for name, value in result["settings"].items())
    seeds = ", ".join(map(str, result["seeds"]))
    file = f"[{result['name']}.json](../../papers/results/{result['name']}.json)"
    cost = f"{result['cpu seconds'] / 60:.1f} CPU minutes"
    return f"*{file}. Settings: {settings}. Seeds: {seeds}. Cost: {cost}. Commits: {commits}. Machine: {machines}.*"


def main() -> None:
    """Write all pages."""
    for path, text in pages(results()).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
