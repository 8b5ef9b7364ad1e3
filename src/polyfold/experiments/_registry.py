"""What an experiment is: a function of a `Run` for one table or figure of a paper, found by its name.

A paper is one module of this package, named without an underscore, that holds ``PAPER = Paper(…)``; every function
under ``@PAPER.experiment(…)`` joins the list. Its docstring is what people read: a title, then the paragraphs
*Question*, *Setting* and *Expected*.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polyfold.experiments
from polyfold.experiments._report import Report
from polyfold.experiments._run import Run

SIZES = ("full", "fast", "tiny")
SECTIONS = ("Question", "Setting", "Expected")
Function = Callable[[Run], Report]


@dataclass(frozen=True)
class Experiment:
    """One table or figure: what is asked, how, and the function that answers."""

    name: str
    title: str
    question: str
    setting: str
    expected: str
    sizes: Mapping[str, Mapping[str, Any]]
    minutes: float  # of the full size on two cores, for the time left of `all`
    function: Function


@dataclass(frozen=True)
class Paper:
    """A paper, its key in the bibliography, what to know about its sets and numbering, and its experiments."""

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

        "fast" and "tiny" change those of "full" that they name.
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
            f"the docstring of {function.__name__} must have the paragraphs {', '.join(SECTIONS)}, each opening with "
            f"its name and a colon, got none for {', '.join(missing)}."
        )
    return (" ".join(title.split()).rstrip("."), *(found[name] for name in SECTIONS))  # type: ignore[return-value]


def papers() -> dict[str, Paper]:
    """Return all papers by their short names."""
    names = [m.name for m in pkgutil.iter_modules(polyfold.experiments.__path__) if not m.name.startswith("_")]
    modules = [importlib.import_module(f"polyfold.experiments.{name}") for name in names if name != "demo"]
    for module in modules:
        # Not as they were imported, which may be by parts.
        found = sorted(module.PAPER.experiments.items(), key=lambda item: _place(item[0]))
        module.PAPER.experiments.clear()
        module.PAPER.experiments.update(found)
    return {module.PAPER.name: module.PAPER for module in modules}


def _place(name: str) -> tuple[bool, int, str]:
    """Tables before figures, by their numbers."""
    number = re.search(r"\d+", name)
    return "table" not in name, int(number.group()) if number else 0, name


def experiments() -> dict[str, Experiment]:
    """Return all experiments by their names, paper by paper."""
    return {name: one for paper in papers().values() for name, one in paper.experiments.items()}


def chosen(names: list[str]) -> list[Experiment]:
    """Return the experiments named; a paper's short name stands for all of its, and "all" for all there are."""
    known, groups = experiments(), {name: list(paper.experiments) for name, paper in papers().items()}
    groups["all"] = list(known)
    if unknown := [name for name in names if name not in known and name not in groups]:
        raise ValueError(
            f"experiments must be named as in the list (polyfold reproduce --list), got {', '.join(unknown)}; "
            f"{', '.join(groups)} stand for several."
        )
    return [known[name] for name in dict.fromkeys(one for name in names for one in groups.get(name, [name]))]
