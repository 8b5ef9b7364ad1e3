"""Model files with another content: parsed into lines and arrays, changed, and packed with a valid checksum."""

import json
from dataclasses import dataclass

from polyfold.saving import _container


@dataclass
class Forgery:
    """The content of a model file: names, lines of the table, bytes of the arrays."""

    names: list
    lines: list
    arrays: bytearray

    def packed(self) -> bytes:
        table = "".join(f"{json.dumps(line)}\n" for line in [self.names, *self.lines]).encode()
        return b"".join(_container.pack(table, [bytes(self.arrays)], {"class": "forged"}))

    def spans(self):
        """Yield the position of every line with bytes, and where its bytes are."""
        start = 0
        for position, line in enumerate(self.lines):
            if (size := stored_bytes(line)) is not None:
                yield position, slice(start, start + size)
                start += size

    def add(self, line) -> int:
        self.lines.append(line)
        return len(self.lines) - 1


def stored_bytes(line):
    if not isinstance(line, list) or line[0] not in ("array", "scalar", "bytes"):
        return None
    if line[0] == "bytes":
        return line[1]
    size = itemsize(line[1])
    for count in line[2] if line[0] == "array" else []:
        size *= count
    return size


def itemsize(dtype) -> int:
    if isinstance(dtype, list):
        return dtype[0]
    return int(dtype[2:]) * (4 if dtype[1] == "U" else 1) if dtype[1] not in "mM" else 8


def parsed(body: bytes) -> Forgery:
    _, table, arrays = _container.unpack(body, "")
    names, *lines = [json.loads(line) for line in bytes(table).splitlines()]
    return Forgery(names, lines, bytearray(arrays))
