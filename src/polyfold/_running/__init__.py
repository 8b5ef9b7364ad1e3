"""How work is done: threads side by side, one thread each in the libraries below, progress shown on request."""

from polyfold._running._display import show_progress
from polyfold._running._fitting import LongFit, shows_progress
from polyfold._running._libraries import library_threads
from polyfold._running._progress import phases, track
from polyfold._running._threads import in_blocks, n_threads, threaded, using_threads

__all__ = [
    "LongFit",
    "in_blocks",
    "library_threads",
    "n_threads",
    "phases",
    "show_progress",
    "shows_progress",
    "threaded",
    "track",
    "using_threads",
]
