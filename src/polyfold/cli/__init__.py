"""The command ``polyfold``. Heavy packages are imported by the commands that need them."""

import importlib.util
import signal
import sys
from typing import Any

REQUIREMENTS = ("click", "rich", "pandas")


def main() -> None:
    """Run the command line; errors are one sentence and exit code 2."""
    missing = [name for name in REQUIREMENTS if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(f"The command line needs {', '.join(missing)}; run: pip install 'polyfold[cli]'\n")
        sys.exit(2)
    signal.signal(signal.SIGTERM, terminate)
    try:
        from polyfold.cli._main import run

        code = run()
    except KeyboardInterrupt as interrupt:
        code = exit_code(interrupt)
    # The result is decided: a late signal must not replace the exit code while the interpreter shuts down.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(code)


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised like Ctrl-C so that files are cleaned up."""


def terminate(*_: Any) -> None:
    """Handle SIGTERM."""
    raise Terminated


def exit_code(interrupt: BaseException | None) -> int:
    """Return 143 after SIGTERM and 130 after SIGINT."""
    return 128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT)
