"""Progress of long work, shown on request."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

logger = logging.getLogger("polyfold")
Item = TypeVar("Item")


def show_progress(show: bool = True) -> None:
    """Print the progress of long fits to standard error, or stop doing so.

    Parameters
    ----------
    show : bool, default=True
        Whether lines such as ``kernel blocks 12/40, 3 s left`` are printed.

    Examples
    --------
    >>> import polyfold as pf
    >>> pf.show_progress(False)
    """
    for handler in [h for h in logger.handlers if getattr(h, "_polyfold", False)]:
        logger.removeHandler(handler)
    if show:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("polyfold: %(message)s"))
        handler._polyfold = True  # type: ignore[attr-defined]
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)


def track(items: Iterable[Item], what: str, *, total: int | None = None, every: float = 1.0) -> Iterator[Item]:
    """Yield `items`, logging ``what i/total, t s left`` at most once in `every` seconds."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    start = last = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last >= every:
            last = now
            logger.info(_line(what, done, total, now - start))


def _line(what: str, done: int, total: int | None, seconds: float) -> str:
    if total is None:
        return f"{what} {done}, {seconds:.0f} s"
    return f"{what} {done}/{total}, {seconds * (total - done) / done:.0f} s left"
