"""The page as one file: its frame, style and scripts, and the data as compressed bytes."""

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCRIPTS = ("regl-scatterplot.min.js", "data.js", "panels.js", "details.js", "explorer.js")


class Arrays:
    """Arrays in a row of bytes; equal ones are stored once."""

    def __init__(self) -> None:
        self._known: dict[bytes, dict[str, Any]] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: NDArray) -> dict[str, Any]:
        """Store an array of bytes, uint16 or uint32, and return where it is."""
        content = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        key = hashlib.blake2b(content + array.dtype.str.encode()).digest()
        if key not in self._known:
            self._known[key] = {"at": self._size, "bits": 8 * array.dtype.itemsize, "size": int(array.size)}
            self._parts.append(content + bytes(-len(content) % 4))
            self._size += len(self._parts[-1])
        return self._known[key]

    def content(self) -> bytes:
        """Return all bytes."""
        return b"".join(self._parts)


def document(title: str, chapters: Sequence[dict[str, Any]], arrays: Arrays) -> str:
    """Return the page as text."""
    frame = _file("explorer.html")
    scripts = "\n".join(f"<script>{_file(name)}</script>" for name in SCRIPTS)
    header = json.dumps({"title": title, "chapters": chapters}, separators=(",", ":"), allow_nan=False).encode()
    header += b" " * (-len(header) % 4)
    blob = len(header).to_bytes(4, "little") + header + arrays.content()
    data = base64.b64encode(gzip.compress(blob, 6, mtime=0)).decode()
    parts = {"TITLE": html.escape(title), "STYLE": _file("explorer.css"), "DATA": data, "SCRIPTS": scripts}
    for name, part in parts.items():
        frame = frame.replace(f"<!--{name}-->", part)
    return frame


def _file(name: str) -> str:
    return resources.files("polyfold.report").joinpath("page", name).read_text(encoding="utf-8")
