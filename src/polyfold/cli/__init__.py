"""The command ``polyfold`` (extra ``cli``). Heavy packages are imported by the commands that need them."""

import importlib.util
import signal
import sys
import time
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
        self._last = -CLEANUP

    def __call__(self, number: int, _: Any) -> None:
        """Handle a signal."""
        now = time.monotonic()
        if now - self._last >= CLEANUP:
            self._last = now
            stopped = Stopped()
            stopped.exit_code = 128 + number
            raise stopped
