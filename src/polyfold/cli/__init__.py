"""The command ``polyfold`` (extra ``cli``): signals, and what a person sees.

Heavy packages are imported by the commands that need them, click and rich only after a check that they are installed.
"""

import importlib.util
import json
import signal
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any

REQUIREMENTS = ("click", "rich", "pandas")
# Seconds for the cleanup after a signal, in which further signals are ignored.
CLEANUP = 2.0


def main() -> None:
    """Run the command line; errors are one sentence and exit code 2."""
    missing = [name for name in REQUIREMENTS if importlib.util.find_spec(name) is None]
    if missing:
        from polyfold._validation import install_command

        sys.stderr.write(f"The command line needs {', '.join(missing)}; run: {install_command('cli')}\n")
        sys.exit(2)
    stop = Stop()
    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not in the background, where it is ignored
        signal.signal(signal.SIGINT, stop)
    try:
        from polyfold.cli._main import run

        code = run()
    except Stopped as stopped:
        code = stopped.exit_code
    # An import of compiled code or a callback from it can turn the signal into another error.
    code = stop.exit_code if code and stop.exit_code else code
    # The result is decided: a late signal must not change the exit code while the interpreter shuts down.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(code)


class Stopped(KeyboardInterrupt):
    """SIGINT or SIGTERM; a plain KeyboardInterrupt can end Python with the signal instead of an exit code."""

    exit_code = 128 + signal.SIGINT


class Stop:
    """Raise `Stopped` for a signal, but not again while files are cleaned up."""

    def __init__(self) -> None:
        self._last, self.exit_code = -CLEANUP, 0

    def __call__(self, number: int, _: Any) -> None:
        """Handle a signal."""
        now = time.monotonic()
        if now - self._last >= CLEANUP:
            self._last = now
            stopped = Stopped()
            stopped.exit_code = self.exit_code = 128 + number
            raise stopped


def echo(text: str, *, err: bool = False) -> None:
    """Print a line on standard output or standard error."""
    import click

    click.echo(text, err=err)


class Terminal:
    """Results go to standard output, progress to standard error, and only if that is a terminal."""

    def __init__(self, as_json: bool):
        self.as_json = as_json
        self.is_shown = sys.stderr is not None and sys.stderr.isatty() and not as_json

    @cached_property
    def errors(self) -> Any:
        """The console for progress."""
        return _console(stderr=True)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show a message while something without a known length is done."""
        from rich.text import Text

        with self.errors.status(Text(what)) if self.is_shown else nullcontext():
            yield

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Show the progress bar of the library."""
        from polyfold import show_progress

        show_progress(self.is_shown)
        try:
            yield
        finally:
            show_progress(False)

    def track(self, blocks: Iterable[Any], what: str, total: int) -> Iterator[Any]:
        """Yield blocks of rows under a progress bar."""
        if not self.is_shown:
            yield from blocks
            return
        from rich.progress import Progress

        with Progress(console=self.errors, transient=True) as bar:
            task = bar.add_task(what, total=total)
            for block in blocks:
                yield block
                bar.advance(task, block.shape[0])

    def lines(self, lines: list[str], *, err: bool) -> None:
        """Print lines, indented below the first, on standard error or standard output."""
        echo("\n  ".join(lines), err=err)

    def result(self, figures: dict[str, Any], *, always: bool = False) -> None:
        """Print figures as JSON, as a table if they are the result of the command, or as a line on a terminal."""
        if self.as_json:
            echo(json.dumps(figures, default=_plain, ensure_ascii=False))
        elif always:
            from rich.table import Table

            table = Table(show_header=False, box=None, pad_edge=False)
            for name, value in figures.items():
                table.add_row(name, _text(value))
            _console().print(table)
        elif self.is_shown:
            self.errors.print(", ".join(f"{name}: {_text(value)}" for name, value in figures.items()))


def _console(**options: Any) -> Any:
    """Return a console that prints names of files, columns and classes as they are, without markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, **options)


@contextmanager
def notes() -> Iterator[None]:
    """Print each warning once, as one line on standard error."""
    shown: set[str] = set()

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if category.__name__ == "ScaleWarning":
            text += " The option for this is --prepare scale."
        if text not in shown:
            shown.add(text)
            echo(f"note: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield


def sentence(error: BaseException) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename} does not exist."
    return " ".join(str(error).split()) or type(error).__name__


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_text(entry)}" for name, entry in value.items())
    return ", ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
