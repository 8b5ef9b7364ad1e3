"""One study a file; each has `run(data) -> dict`."""
