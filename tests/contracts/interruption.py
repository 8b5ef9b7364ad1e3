"""Stop a computation at a given call inside the library, or make two computations overlap there."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polyfold

SOURCE = str(Path(polyfold.__file__).parent)
# What restores the process after an interruption cannot itself be interrupted and still restore it.
RESTORES = tuple(str(Path(SOURCE) / name) for name in ("_progress.py", "_threads.py"))


@contextmanager
def at_call(number: int, action: Callable[[], None]) -> Iterator[list[int]]:
    """Call `action` when a function of the library is entered for the `number`-th time in this thread.

    Yields a list whose only entry counts the calls so far.
    """
    count = [0]

    def hook(frame, event, _):
        code = frame.f_code
        # An exception at the resumption of a generator may be swallowed by its close.
        ours = code.co_filename.startswith(SOURCE) and code.co_filename not in RESTORES
        if event == "call" and ours and not code.co_flags & inspect.CO_GENERATOR:
            count[0] += 1
            if count[0] == number:
                action()

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        yield count
    finally:
        sys.setprofile(before)


def interrupt() -> None:
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


def calls_of(run: Callable[[], object]) -> int:
    """Count the library's own function calls in `run`."""
    with at_call(-1, interrupt) as count:
        run()
    return count[0]
