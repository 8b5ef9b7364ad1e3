"""A run of one experiment: its settings and seed, its data folder, and its cells, computed with progress."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from polyfold._running import phases
from polyfold.exceptions import MissingExtraError
from polyfold.experiments._cells import Cells, CellStore, Task, labels_of

Cost = Callable[[Mapping[str, Any]], float]


class Run:
    """What an experiment is given.

    Parameters
    ----------
    settings : mapping
        Of its size; ``run["rows"]``.
    seed : int
        The first of its seeds; ``run.seeds`` are as many as the setting "draws" says.
    data : Path or None
        Folder of the data sets, passed to the functions of cells.
    store : CellStore
    """

    def __init__(self, settings: Mapping[str, Any], *, seed: int, data: Path | None, store: CellStore):
        self.settings, self.seed, self.data, self.store = settings, seed, data, store
        self.missing: list[str] = []
        self.tasks: list[Task] = []

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    @property
    def seeds(self) -> list[int]:
        """Seeds of the draws."""
        return [self.seed + draw for draw in range(self.settings.get("draws", 1))]

    def cells(self, tasks: list[Task], cost: Cost = lambda parameters: 1.0) -> Cells:
        """Compute ``function(data, **parameters)`` for every task, unless it is known, and return all cells.

        A set or an extra that is not there costs its cells only, and is told. `cost` says what a cell is expected to
        take, in any unit, for the estimate of the time left.
        """
        self.tasks += tasks
        known = [self.store.find(task) for task in tasks]
        labels = labels_of(tasks)
        phase = phases({label: cost(task.parameters) for label, task in zip(labels, tasks, strict=True)})
        cells = []
        for task, cell, label in zip(tasks, known, labels, strict=True):
            with phase(label, known=cell is not None):
                cells.append(self._compute(task) if cell is None else cell)
        return Cells([cell for cell in cells if cell is not None])

    def _compute(self, task: Task) -> Any:
        start, worked = time.perf_counter(), time.process_time()
        try:
            numbers = task.function(self.data, **task.parameters)
        except (FileNotFoundError, MissingExtraError) as error:
            if str(error) not in self.missing:
                self.missing.append(str(error))
            return None
        return self.store.put(task, numbers, time.perf_counter() - start, time.process_time() - worked)
