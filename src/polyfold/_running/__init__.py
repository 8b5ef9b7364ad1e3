"""How work is done: threads side by side, one thread each in the libraries below, progress shown on request."""

from polyfold._running._libraries import library_threads
from polyfold._running._progress import show_progress, track
from polyfold._running._threads import in_blocks, n_threads, threaded, using_threads

__all__ = ["in_blocks", "library_threads", "n_threads", "show_progress", "threaded", "track", "using_threads"]
