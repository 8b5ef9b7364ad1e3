"""A run of one experiment: its settings, seeds and data folder, and the cells it computes."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from papers.cells import Cells, CellStore, Task, labels_of
from polyfold.exceptions import MissingExtraError


class Run:
    """The argument of an experiment.

    Parameters
    ----------
    settings : mapping
        Settings of the chosen size, read as ``run["rows"]``.
    seed : int
        First seed; ``run.seeds`` has one seed per draw (the setting "draws").
    data : Path or None
        Data folder, passed to the functions of cells.
    store : CellStore
    verbose : bool, default=False
        Write one line per computed cell to stderr.
    """

    def __init__(
        self, settings: Mapping[str, Any], *, seed: int, data: Path | None, store: CellStore, verbose: bool = False
    ):
        self.settings, self.seed, self.data, self.store, self.verbose = settings, seed, data, store, verbose
        self.missing: list[str] = []
        self.tasks: list[Task] = []

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    @property
    def seeds(self) -> list[int]:
        """Seeds of the draws."""
        return [self.seed + draw for draw in range(self.settings.get("draws", 1))]

    def cells(self, tasks: list[Task]) -> Cells:
        """Compute ``function(data, **parameters)`` for every task that is not stored, and return all cells.

        A missing data set or extra skips its own cells; `missing` lists the reasons.
        """
        self.tasks += tasks
        cells = [self.store.find(task) or self._compute(task, label) for task, label in labels_of(tasks)]
        return Cells([cell for cell in cells if cell is not None])

    def _compute(self, task: Task, label: str) -> Any:
        start, worked = time.perf_counter(), time.process_time()
        try:
            numbers = task.function(self.data, **task.parameters)
        except (FileNotFoundError, MissingExtraError) as error:
            if str(error) not in self.missing:
                self.missing.append(str(error))
            return None
        seconds, cpu = time.perf_counter() - start, time.process_time() - worked
        if self.verbose:
            print(f"{label}  {seconds:.1f} s", file=sys.stderr, flush=True)
        return self.store.put(task, numbers, seconds, cpu)
