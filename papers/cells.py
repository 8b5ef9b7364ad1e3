"""Cells: the numbers of one function for one set of parameters, computed once and stored.

``<folder>/cells/<module>.<function>.json.gz`` holds the cells of one function by their parameters, with seconds,
commit and machine. Experiments that need the same cell share it. The file is replaced after every cell, so an
interrupted run continues with the next one.
"""

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

Function = Callable[..., dict[str, Any]]
_DIGITS = 10


@dataclass(frozen=True)
class Task:
    """A function and the parameters of one of its cells."""

    function: Function
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """Parameters, and the numbers computed for them."""

    function: str
    parameters: dict[str, Any]
    numbers: dict[str, Any]
    seconds: float  # wall time
    cpu: float  # CPU seconds of all cores


class Cells(Sequence[Cell]):
    """Finished cells, selected by function and parameters."""

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
        """Return one number of every cell with these parameters, in order; cells without it are skipped."""
        return [cell.numbers[number] for cell in self.where(**parameters) if number in cell.numbers]


def grid(function: Function, **parameters: Any) -> list[Task]:
    """Return the tasks of all combinations; lists, tuples and ranges are varied, other values stay the same.

    Examples
    --------
    >>> [task.parameters for task in grid(dict, seed=range(2), rows=10)]
    [{'seed': 0, 'rows': 10}, {'seed': 1, 'rows': 10}]
    """
    ranges = [v if isinstance(v, list | tuple | range) else [v] for v in parameters.values()]
    return [Task(function, dict(zip(parameters, values, strict=True))) for values in product(*ranges)]


def labels_of(tasks: Sequence[Task]) -> list[tuple[Task, str]]:
    """Pair every task with its label: its number, and the parameters in which the tasks differ.

    Examples
    --------
    >>> [label for _, label in labels_of(grid(dict, seed=range(2), rows=10))]
    ['1/2: seed 0', '2/2: seed 1']
    """
    seen: dict[str, set[str]] = {}
    for task in tasks:
        for name, value in task.parameters.items():
            seen.setdefault(name, set()).add(str(value))
    shown = [[f"{n} {v}" for n, v in task.parameters.items() if len(seen[n]) > 1] for task in tasks]
    labels = [f"{i}/{len(tasks)}: {', '.join(parts)}" for i, parts in enumerate(shown, start=1)]
    return list(zip(tasks, labels, strict=True))


class CellStore:
    """The cells of a folder.

    Parameters
    ----------
    folder : Path
    context : dict
        Commit, versions and machine, stored with every computed cell.
    fresh : bool, default=False
        Compute stored cells again.
    """

    def __init__(self, folder: Path, context: dict[str, Any], *, fresh: bool = False):
        self.folder, self.context = folder, context
        self._fresh, self._done = fresh, set[str]()

    def find(self, task: Task) -> Cell | None:
        """Return the cell if it is stored."""
        name, key = name_of(task.function), key_of(task.parameters)
        known = self._read(name)["cells"].get(key)
        if known is None or (self._fresh and f"{name} {key}" not in self._done):
            return None
        return Cell(name, known["parameters"], known["numbers"], known["seconds"], known["cpu"])

    def put(self, task: Task, numbers: dict[str, Any], seconds: float, cpu: float) -> Cell:
        """Store the numbers of a task."""
        name, key = name_of(task.function), key_of(task.parameters)
        content = self._read(name)
        mark = hashlib.blake2b(json.dumps(self.context, sort_keys=True).encode(), digest_size=4).hexdigest()
        content["contexts"][mark] = self.context
        found = Cell(name, portable(task.parameters), portable(numbers), round(seconds, 2), round(cpu, 2))
        parts = ("parameters", "numbers", "seconds", "cpu")
        content["cells"][key] = {part: getattr(found, part) for part in parts} | {"context": mark}
        used = {one["context"] for one in content["cells"].values()}
        content["contexts"] = {mark: one for mark, one in content["contexts"].items() if mark in used}
        _write(self._path(name), content)
        self._done.add(f"{name} {key}")
        return found

    def contexts(self, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
        """Yield the contexts in which the cells of these tasks were computed."""
        for name in dict.fromkeys(name_of(task.function) for task in tasks):
            content, keys = self._read(name), [key_of(t.parameters) for t in tasks if name_of(t.function) == name]
            marks = {content["cells"][key]["context"] for key in keys if key in content["cells"]}
            yield from (content["contexts"][mark] for mark in sorted(marks))

    def _path(self, name: str) -> Path:
        return self.folder / "cells" / f"{name}.json.gz"

    def _read(self, name: str) -> dict[str, Any]:
        path = self._path(name)  # read every time: another run may have written it
        if not path.exists():
            return {"contexts": {}, "cells": {}}
        try:
            content = json.loads(gzip.decompress(path.read_bytes()))
        except (ValueError, EOFError, OSError, zlib.error):
            content = None
        if not isinstance(content, dict) or not {"contexts", "cells"} <= content.keys():
            raise ValueError(f"{path} is damaged. Remove it, or choose another folder for the results.")
        return content


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replace the file at once, so that an interruption leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    temporary.write_bytes(gzip.compress(text.encode(), mtime=0))
    temporary.replace(path)


def name_of(function: Function) -> str:
    """Return paper, module and name of a function."""
    return f"{function.__module__.removeprefix('papers.')}.{function.__name__}"


def key_of(parameters: dict[str, Any]) -> str:
    """Return the parameters as text, the key of their cell."""
    return json.dumps(portable(parameters), sort_keys=True, ensure_ascii=False)


def portable(value: Any) -> Any:
    """Return a value that JSON can hold: numbers have ten digits, and None replaces NaN and infinity."""
    if isinstance(value, dict):
        return {str(name): portable(one) for name, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [portable(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None
    return value
