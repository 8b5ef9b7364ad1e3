"""What a person sees: progress on a terminal, nothing in a pipe, JSON on request."""

import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from polyfold import show_progress
from polyfold.cli._messages import in_options


class Terminal:
    """Results go to standard output, everything else to standard error, and only if that is a terminal."""

    def __init__(self, as_json: bool):
        self.as_json = as_json
        # Names of files, columns and classes are printed as they are: nothing in them is markup.
        literal: Any = {"highlight": False, "markup": False, "emoji": False}
        self.errors, self.out = Console(stderr=True, **literal), Console(**literal)
        self.is_shown = sys.stderr is not None and sys.stderr.isatty() and not as_json

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show that something is being done that does not tell how far it is."""
        with self.errors.status(Text(what)) if self.is_shown else nullcontext():
            yield

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Show the library's own bar, with the time left."""
        show_progress(self.is_shown)
        try:
            yield
        finally:
            show_progress(False)

    def track(self, blocks: Iterable[Any], what: str, n_rows: int | None, size: int) -> Iterator[Any]:
        """Yield blocks under a bar with the time left."""
        if not self.is_shown:
            yield from blocks
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, TimeRemainingColumn(), console=self.errors, transient=True) as bar:
            task = bar.add_task(what, total=None if n_rows is None else -(-n_rows // size))
            for block in blocks:
                yield block
                bar.advance(task)

    def result(self, figures: dict[str, Any], *, always: bool = False) -> None:
        """Print figures: as JSON, as a table where they are what was asked for, or as a line on a terminal."""
        if self.as_json:
            click.echo(json.dumps(figures, default=_plain, ensure_ascii=False))
        elif always:
            table = Table(show_header=False, box=None, pad_edge=False)
            for name, value in figures.items():
                table.add_row(name, _text(value))
            self.out.print(table)
        elif self.is_shown:
            self.errors.print(", ".join(f"{name}: {_text(value)}" for name, value in figures.items()))


@contextmanager
def notes(options: list[str]) -> Iterator[None]:
    """Show warnings as one line each, without the place in the code, in the words of a command with these options."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        click.echo(f"note: {in_options(str(message), options)}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_text(entry)}" for name, entry in value.items())
    return ", ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
