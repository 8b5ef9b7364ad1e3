"""Run experiments and write their results: JSON, Markdown and a figure."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from papers.cells import CellStore, portable
from papers.figures import draw
from papers.markdown import as_markdown
from papers.registry import Experiment, chosen
from papers.run import Run

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("polyfold", "numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "torch", "pynndescent")


def reproduce(
    names: list[str],
    *,
    out: str | os.PathLike[str],
    size: str = "full",
    data: str | os.PathLike[str] | None = None,
    seed: int = 0,
    fresh: bool = False,
    show: Callable[[str], Any] | None = print,
) -> list[dict[str, Any]]:
    """Run experiments, write their results, and return them.

    Parameters
    ----------
    names : list of str
        Names from ``python -m papers list``; a paper selects all of its experiments, "all" selects everything.
    out : path-like
        Folder for the results. Cells that are stored there are not computed again.
    size : {"full", "fast", "tiny"}, default="full"
    data : path-like, default=None
        Data folder; None means that of :func:`papers.data.data_folder`.
    seed : int, default=0
        First seed; further draws add 1, 2, …
    fresh : bool, default=False
        Compute stored cells again.
    show : callable or None, default=print
        Called with the Markdown of every result; None also turns off the progress lines.

    Returns
    -------
    results : list of dict
    """
    wanted = chosen(names)
    if not 0 <= seed < 2**32 - 100:
        raise ValueError(f"seed must be from 0 to 2**32 - 101, got {seed}; further draws add to it.")
    store = CellStore(_folder(out), context(), fresh=fresh)
    folder, results = None if data is None else Path(data), []
    for experiment in wanted:
        if show is not None:
            print(f"{experiment.name}: {experiment.title}", file=sys.stderr, flush=True)
        run = Run(experiment.sizes[size], seed=seed, data=folder, store=store, verbose=show is not None)
        results.append(_result(experiment, run, size))
        written = write_result(results[-1], Path(out))
        if show is not None:
            show(as_markdown(results[-1]) + "".join(f"\n{path}" for path in written) + "\n")
    return results


def _folder(out: str | os.PathLike[str]) -> Path:
    """Make the folder for the results before anything is computed."""
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ValueError(f"out must be a folder, got the file {error.filename}; choose another name.") from error
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
    """Write a result and its figure; the file names of other sizes than "full" contain the size."""
    stem = result["name"] if result["size"] == "full" else f"{result['name']}.{result['size']}"
    paths = [folder / f"{stem}.{kind}" for kind in ("json", "md", "png")]
    paths[0].write_text(json.dumps(without_clouds(result), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if not _drawn(result, paths[2]):
        paths = paths[:2]
    paths[1].write_text(as_markdown(result, paths[2].name if len(paths) == 3 else None), encoding="utf-8")
    return paths


def without_clouds(result: dict[str, Any]) -> dict[str, Any]:
    """Drop images and scatter points, which the figure shows and the cells hold."""
    panels = [
        {**panel, "image": None, "curves": [curve for curve in panel["curves"] if curve["style"] != "points"]}
        for panel in result["panels"]
    ]
    return {**result, "panels": panels}


def _drawn(result: dict[str, Any], path: Path) -> bool:
    if not result["panels"]:
        return False
    try:
        draw(result["panels"], path)
    except ImportError as error:
        print(f"{result['name']} is written without its figure: {error}", file=sys.stderr)
        return False
    return True


def context() -> dict[str, Any]:
    """Return the commit, the versions and the machine."""
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _commit() -> str | None:
    """Return the commit of the repository, with "-dirty" if its sources were changed; None without git."""
    commit = _git("rev-parse", "--short", "HEAD")
    if commit is None:
        return None
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "*.py", "../src")
    return f"{commit}{'-dirty' if changed else ''}"


def _git(*arguments: str) -> str | None:
    try:
        found = subprocess.run(
            ["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:  # git is not installed
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
