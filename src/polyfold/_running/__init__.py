"""How work is done: threads side by side, one thread each in the libraries below, progress shown on request."""

from polyfold._running._display import displays, show_progress
from polyfold._running._fitting import LongFit, shows_progress
from polyfold._running._libraries import library_threads
from polyfold._running._progress import job, phases, track
from polyfold._running._threads import in_blocks, n_threads, threaded, using_threads

__all__ = [
    "LongFit",
    "displays",
    "in_blocks",
    "job",
    "library_threads",
    "n_threads",
    "phases",
    "show_progress",
    "shows_progress",
    "threaded",
    "track",
    "using_threads",
]
