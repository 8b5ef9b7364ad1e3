"""The command ``polyfold`` (extra ``cli``): what is installed, signals, and what a person sees.

Heavy packages are imported by the commands that need them, click and rich only after a check that they are installed.
"""

import importlib.util
import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

REQUIREMENTS = ("click", "rich", "pandas")
SHOW_CURSOR = "\x1b[?25h\n"


def main() -> None:
    """Run the command line and exit with its code."""
    missing = [name for name in REQUIREMENTS if importlib.util.find_spec(name) is None]
    if missing:
        from polyfold._validation import install_command

        sys.stderr.write(f"The command line needs {', '.join(missing)}; run: {install_command('cli')}\n")
        sys.exit(2)
    signal.signal(signal.SIGTERM, end_by_signal)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not in the background, where it is ignored
        signal.signal(signal.SIGINT, end_by_signal)
    from polyfold.cli._main import run

    code = run()
    # The result is decided: a late signal must not change the exit code while the interpreter shuts down.
    _ignore_signals()
    sys.exit(code)


def end_by_signal(number: int, _: Any) -> None:
    """Remove unfinished outputs and end the process.

    An exception would not do: Python ignores it in some callbacks, compiled code turns it into another error, and
    importlib can keep its lock. The interpreter is not shut down, because threads of compiled code may still run.
    """
    _ignore_signals()
    if (files := sys.modules.get("polyfold._files")) is not None:
        with suppress(OSError, AttributeError):  # AttributeError: the module is being imported
            files.discard_unfinished()
    with suppress(OSError, AttributeError, RuntimeError):  # a closed pipe, no stream, or one that is being written to
        if sys.stderr.isatty():
            sys.stderr.write(SHOW_CURSOR)  # progress bars hide it
        sys.stderr.write("interrupted; unfinished outputs were removed.\n")
        sys.stderr.flush()
    os._exit(128 + number)


def _ignore_signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


class Terminal:
    """Results go to standard output, progress to standard error, and only if that is a terminal."""

    def __init__(self, as_json: bool):
        self.as_json = as_json
        self.is_shown = sys.stderr is not None and sys.stderr.isatty() and not as_json

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show the phases and loops of the library while something is done."""
        from polyfold._progress import watched

        with watched(what, verbose=self.is_shown):
            yield

    def result(self, figures: dict[str, Any], *, always: bool = False) -> None:
        """Print figures as JSON, as a table if they are the result of the command, or as a line on a terminal."""
        import click

        if self.as_json:
            click.echo(json.dumps(figures, default=_plain, ensure_ascii=False))
        elif always:
            from rich.table import Table

            table = Table(show_header=False, box=None, pad_edge=False)
            for name, value in figures.items():
                table.add_row(name, _text(value))
            _console().print(table)
        elif self.is_shown:
            click.echo(", ".join(f"{name}: {_text(value)}" for name, value in figures.items()), err=True)


def _console() -> Any:
    """Return a console that prints names of files, columns and classes as they are, without markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print each warning once, as one line on standard error."""
    import click

    shown: set[str] = set()

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if category.__name__ == "ScaleWarning":
            text += " The option for this is --prepare scale."
        if text not in shown:
            shown.add(text)
            click.echo(f"note: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield


def error_message(error: BaseException) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename} does not exist."
    return " ".join(str(error).split()) or type(error).__name__


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return the name that may have been meant, or all names."""
    from difflib import get_close_matches

    from polyfold._validation import shortened  # imports scikit-learn, so only in case of an error

    lower = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), lower, n=1)
    return f"the nearest name is {lower[close[0]]!r}" if close else f"it has {shortened(names)}"


def rows_text(count: int) -> str:
    """Return a number of rows in words."""
    return f"{count} row{'' if count == 1 else 's'}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_text(entry)}" for name, entry in value.items())
    return ", ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
