"""Run experiments and write what they found: JSON, Markdown and figures."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from polyfold._files import write_file
from polyfold._running import displays, job, phases
from polyfold.exceptions import MissingExtraError
from polyfold.experiments._cells import CellStore, portable
from polyfold.experiments._context import context
from polyfold.experiments._figures import draw
from polyfold.experiments._registry import Experiment, chosen, papers
from polyfold.experiments._run import Run
from polyfold.experiments._tables import as_markdown

OUT = "polyfold-reproduce"


def reproduce(
    names: list[str],
    *,
    size: str = "full",
    data: str | os.PathLike[str] | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] = OUT,
    fresh: bool = False,
    show: Callable[[str], Any] | None = print,
) -> list[dict[str, Any]]:
    """Run the experiments named, write their results, and return them.

    Parameters
    ----------
    names : list of str
        As in ``polyfold reproduce --list``; a paper stands for all of its experiments, "all" for all there are.
    size : {"full", "fast", "tiny"}, default="full"
    data : path-like, default=None
        Folder of the data sets; None is that of :func:`polyfold.datasets.data_folder`.
    seed : int, default=0
        The first seed.
    out : path-like, default="polyfold-reproduce"
        Folder of the results. What is there for the same parameters is not computed again.
    fresh : bool, default=False
        Compute it again.
    show : callable or None, default=print
        Called with the Markdown of every result; None runs in silence, without progress.

    Returns
    -------
    results : list of dict
    """
    wanted, store = chosen(names), CellStore(_folder(out), context(), fresh=fresh)
    if not 0 <= seed < 2**32 - 100:
        raise ValueError(f"seed must be from 0 to 2**32 - 101, got {seed}; seeds of further draws are added to it.")
    folder = None if data is None else Path(data)
    results = []
    with job("reproduce", displays(show is not None)):
        phase = phases({experiment.name: experiment.minutes for experiment in wanted})
        for experiment in wanted:
            with phase(experiment.name):
                run = Run(experiment.sizes[size], seed=seed, data=folder, store=store)
                results.append(_result(experiment, run, size))
            written = write_result(results[-1], Path(out))
            if show is not None:
                show(as_markdown(results[-1]) + "".join(f"\n{path}" for path in written) + "\n")
    return results


def _folder(out: str | os.PathLike[str]) -> Path:
    """Make the folder of the results, before anything is computed for it."""
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ValueError(f"out must be a folder, got the file {error.filename}; pass another.") from error
    return Path(out)


def _result(experiment: Experiment, run: Run, size: str) -> dict[str, Any]:
    report = asdict(experiment.function(run))
    described = {name: getattr(experiment, name) for name in ("name", "title", "question", "setting", "expected")}
    where = {"size": size, "settings": dict(run.settings), "seeds": run.seeds, "missing": run.missing}
    cells = [cell for task in run.tasks if (cell := run.store.find(task))]
    cost = {"seconds": sum(cell.seconds for cell in cells), "cpu seconds": sum(cell.cpu for cell in cells)}
    computed = list(run.store.contexts(run.tasks)) or [run.store.context]
    return portable({**described, **where, **cost, "contexts": computed, **report})


def write_result(result: dict[str, Any], folder: Path) -> list[Path]:
    """Write a result beside its figure; sizes other than the full one have theirs in the names of the files."""
    stem = folder / (result["name"] if result["size"] == "full" else f"{result['name']}.{result['size']}")
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("json", "md")]
    write_file(paths[0], (json.dumps(result, indent=1, ensure_ascii=False) + "\n").encode())
    figures = _figures(result, stem)
    write_file(paths[1], as_markdown(result, figures[0].name if figures else None).encode())
    return [*paths, *figures]


def _figures(result: dict[str, Any], stem: Path) -> list[Path]:
    if not result["panels"]:
        return []
    try:
        return draw(result["panels"], stem)
    except MissingExtraError as error:
        sys.stderr.write(f"{result['name']} is written without its figure: {error}\n")
        return []


def listing() -> str:
    """Return the names, expected minutes and titles of all experiments, paper by paper."""
    lines = ["minutes are those of the full version on two cores; some share their work with others"]
    for paper in papers().values():
        lines.append(f"{paper.name}: {paper.title} [{paper.key}]")
        lines += [f"  {name:15s} {one.minutes:4.3g} min  {one.title}" for name, one in paper.experiments.items()]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Parse the arguments of ``python -m polyfold.experiments`` and run."""
    parser = argparse.ArgumentParser(prog="polyfold.experiments", description="Tables and figures of the papers.")
    parser.add_argument("names", nargs="*", help="experiments, papers or all")
    parser.add_argument("--list", action="store_true", help="name every table and figure")
    parser.add_argument("--fast", action="store_true", help="a smaller version of at most two minutes each")
    parser.add_argument("--data", help="folder of the data sets; default POLYFOLD_DATA, else ~/polyfold_data")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; default 0")
    parser.add_argument("--out", default=OUT, help=f"folder of the results; default {OUT}")
    parser.add_argument("--fresh", action="store_true", help="compute again what is there")
    options = vars(parser.parse_args(arguments))
    listed, fast = options.pop("list"), options.pop("fast")
    if listed or not options["names"]:
        print(listing())
        return
    try:
        reproduce(**options, size="fast" if fast else "full")
    except ValueError as error:
        parser.error(str(error))
