"""Cells: what is computed once for some parameters, kept in a file, and never computed again.

``<folder>/cells/<function>.json`` holds the cells of one function by parameters, each with its seconds, its commit
and its machine. Experiments that ask the same function for the same parameters share them. A file is written whole
after every cell, so that an interrupted run goes on where it was.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from polyfold._files import fingerprint, write_file

Function = Callable[..., dict[str, Any]]
_DIGITS = 10


@dataclass(frozen=True)
class Task:
    """A function and the parameters of one of its cells."""

    function: Function
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """Parameters, and the numbers that were found for them."""

    function: str
    parameters: dict[str, Any]
    numbers: dict[str, Any]
    seconds: float  # by the clock
    cpu: float  # of all cores


class Cells(Sequence[Cell]):
    """Finished cells, chosen by function and parameters."""

    def __init__(self, cells: Sequence[Cell]):
        self._cells = list(cells)

    def __getitem__(self, index: Any) -> Any:
        return self._cells[index]

    def __len__(self) -> int:
        return len(self._cells)

    def of(self, function: Function) -> "Cells":
        """Return the cells of one function."""
        return Cells([cell for cell in self._cells if cell.function == name_of(function)])

    def where(self, **parameters: Any) -> "Cells":
        """Return the cells with these parameters."""
        wanted = portable(parameters).items()
        return Cells([c for c in self._cells if all(c.parameters.get(name) == value for name, value in wanted)])

    def values(self, number: str, **parameters: Any) -> list[Any]:
        """Return one number of all cells with these parameters, in their order; none where a set was missing."""
        return [cell.numbers[number] for cell in self.where(**parameters) if number in cell.numbers]


def grid(function: Function, **parameters: Any) -> list[Task]:
    """Return the tasks of all combinations: lists, tuples and ranges are gone through, anything else stays the same.

    Examples
    --------
    >>> [task.parameters for task in grid(dict, seed=range(2), rows=10)]
    [{'seed': 0, 'rows': 10}, {'seed': 1, 'rows': 10}]
    """
    ranges = [v if isinstance(v, list | tuple | range) else [v] for v in parameters.values()]
    return [Task(function, dict(zip(parameters, values, strict=True))) for values in product(*ranges)]


def labels_of(tasks: Sequence[Task]) -> list[str]:
    """Say what is shown while each task runs: its number, and the parameters in which the tasks differ.

    Examples
    --------
    >>> labels_of(grid(dict, seed=range(2), rows=10))
    ['1/2: seed 0', '2/2: seed 1']
    """
    seen: dict[str, set[str]] = {}
    for task in tasks:
        for name, value in task.parameters.items():
            seen.setdefault(name, set()).add(str(value))
    shown = [[f"{n} {v}" for n, v in task.parameters.items() if len(seen[n]) > 1] for task in tasks]
    return [f"{i}/{len(tasks)}: {', '.join(parts)}" for i, parts in enumerate(shown, start=1)]


class CellStore:
    """The cells of a folder.

    Parameters
    ----------
    folder : Path
    context : dict
        Commit, versions and machine, kept beside every cell computed.
    fresh : bool, default=False
        Compute cells again that are known.
    """

    def __init__(self, folder: Path, context: dict[str, Any], *, fresh: bool = False):
        self.folder, self.context = folder, context
        self._fresh, self._done = fresh, set[str]()

    def find(self, task: Task) -> Cell | None:
        """Return the cell if it is known."""
        name, key = name_of(task.function), key_of(task.parameters)
        known = self._read(name)["cells"].get(key)
        if known is None or (self._fresh and f"{name} {key}" not in self._done):
            return None
        return Cell(name, known["parameters"], known["numbers"], known["seconds"], known["cpu"])

    def put(self, task: Task, numbers: dict[str, Any], seconds: float, cpu: float) -> Cell:
        """Keep what was computed."""
        name, key = name_of(task.function), key_of(task.parameters)
        content = self._read(name)
        mark = fingerprint(self.context)[:8]
        content["contexts"][mark] = self.context
        found = Cell(name, portable(task.parameters), portable(numbers), round(seconds, 2), round(cpu, 2))
        parts = ("parameters", "numbers", "seconds", "cpu")
        content["cells"][key] = {part: getattr(found, part) for part in parts} | {"context": mark}
        used = {one["context"] for one in content["cells"].values()}
        content["contexts"] = {mark: one for mark, one in content["contexts"].items() if mark in used}
        write_file(self._path(name), (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
        self._done.add(f"{name} {key}")
        return found

    def contexts(self, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
        """Yield where the cells of these tasks were computed."""
        for name in dict.fromkeys(name_of(task.function) for task in tasks):
            content, keys = self._read(name), [key_of(t.parameters) for t in tasks if name_of(t.function) == name]
            marks = {content["cells"][key]["context"] for key in keys if key in content["cells"]}
            yield from (content["contexts"][mark] for mark in sorted(marks))

    def _path(self, name: str) -> Path:
        return self.folder / "cells" / f"{name}.json"

    def _read(self, name: str) -> dict[str, Any]:
        path = self._path(name)  # read anew each time: another run may have written
        if not path.exists():
            return {"contexts": {}, "cells": {}}
        try:
            content = json.loads(path.read_text())
        except ValueError:
            content = None
        if not isinstance(content, dict) or not {"contexts", "cells"} <= content.keys():
            raise ValueError(f"out must hold cells that can be read, got a damaged {path}; remove it, or pass another.")
        return content


def name_of(function: Function) -> str:
    """Name of a function in its paper."""
    return f"{function.__module__.rpartition('.')[2].lstrip('_')}.{function.__name__}"


def key_of(parameters: dict[str, Any]) -> str:
    """Text that tells parameters apart."""
    return json.dumps(portable(parameters), sort_keys=True, ensure_ascii=False)


def portable(value: Any) -> Any:
    """Return what JSON can hold: numbers in ten digits, None for what is not finite."""
    if isinstance(value, dict):
        return {str(name): portable(one) for name, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [portable(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None
    return value
