"""The list of experiments: one function of a `Run` per table or figure of a paper.

A paper is a folder whose ``__init__.py`` defines ``PAPER = Paper(…)``. Every function in it that is decorated with
``@PAPER.experiment(…)`` is an experiment. Its docstring is shown to readers: a title, then the paragraphs *Question*,
*Setting* and *Expected*.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from papers.report import Report
from papers.run import Run

PAPERS = ("mae", "mbm", "mbn", "nrs")
SECTIONS = ("Question", "Setting", "Expected")
Function = Callable[[Run], Report]


@dataclass(frozen=True)
class Experiment:
    """One table or figure: its description, and the function that computes it."""

    name: str
    title: str
    question: str
    setting: str
    expected: str
    sizes: Mapping[str, Mapping[str, Any]]
    minutes: float  # of the full size on two cores
    function: Function


@dataclass(frozen=True)
class Paper:
    """A paper: its key in the bibliography, a note on its data sets, and its experiments."""

    name: str
    key: str
    title: str
    note: str
    experiments: dict[str, Experiment] = field(default_factory=dict)

    def experiment(
        self,
        name: str,
        *,
        full: Mapping[str, Any],
        fast: Mapping[str, Any],
        tiny: Mapping[str, Any],
        minutes: float = 1.0,
    ) -> Callable[[Function], Function]:
        """Register a function as the experiment ``<paper>-<name>`` with its settings at three sizes.

        `fast` and `tiny` override the settings of `full`.
        """

        def register(function: Function) -> Function:
            sizes = {"full": full, "fast": {**full, **fast}, "tiny": {**full, **tiny}}
            whole = f"{self.name}-{name}"
            self.experiments[whole] = Experiment(whole, *described(function), sizes, minutes, function)
            return function

        return register


def described(function: Function) -> tuple[str, str, str, str]:
    """Title, question, setting and expectation, from the docstring."""
    title, *paragraphs = re.split(r"\n\s*\n", inspect.getdoc(function) or "")
    found = dict(re.split(r":\s+", " ".join(text.split()), maxsplit=1) for text in paragraphs if ":" in text)
    if missing := [name for name in SECTIONS if name not in found]:
        raise ValueError(
            f"The docstring of {function.__name__} needs a paragraph for each of {', '.join(SECTIONS)}, each starting "
            f"with the name and a colon; missing: {', '.join(missing)}."
        )
    return (" ".join(title.split()).rstrip("."), *(found[name] for name in SECTIONS))  # type: ignore[return-value]


def papers() -> dict[str, Paper]:
    """Return all papers by their short names, with their experiments sorted: tables first, then by number."""
    found = {}
    for name in PAPERS:
        package = importlib.import_module(f"papers.{name}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"papers.{name}.{module.name}")
        known = package.PAPER.experiments
        found[name] = replace(package.PAPER, experiments={key: known[key] for key in sorted(known, key=_order)})
    return found


def _order(name: str) -> tuple[bool, int, str]:
    number = re.search(r"\d+", name)
    return "table" not in name, int(number.group()) if number else 0, name


def experiments() -> dict[str, Experiment]:
    """Return all experiments by their names, paper by paper."""
    return {name: one for paper in papers().values() for name, one in paper.experiments.items()}


def chosen(names: list[str]) -> list[Experiment]:
    """Return the named experiments; a paper's short name selects all of its experiments, "all" selects everything."""
    known, groups = experiments(), {name: list(paper.experiments) for name, paper in papers().items()}
    groups["all"] = list(known)
    if unknown := [name for name in names if name not in known and name not in groups]:
        raise ValueError(
            f"There is no experiment called {', '.join(unknown)}. Run `python -m papers list` for the names; "
            f"{', '.join(groups)} select several."
        )
    return [known[name] for name in dict.fromkeys(one for name in names for one in groups.get(name, [name]))]


def listing() -> str:
    """Return the names, minutes and titles of all experiments, paper by paper."""
    lines = ["Minutes are for the full size on two cores; experiments that share cells take less together."]
    for paper in papers().values():
        lines.append(f"{paper.name}: {paper.title} [{paper.key}]")
        lines += [f"  {name:15s} {one.minutes:4.3g} min  {one.title}" for name, one in paper.experiments.items()]
    return "\n".join(lines)
