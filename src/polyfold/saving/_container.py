"""A model file: a line with its kind, a line of JSON about its writer, the content, and the SHA-256 of all of it.

Every later format keeps the first line, a second one with the key "format", and SHA-256 as the last 32 bytes, so that
a file of any version can be distinguished from a damaged one.

The content is the length of the table in eight bytes, the table, and the bytes of the arrays.
"""

import hashlib
import json
import re
import zlib
from importlib.metadata import version
from typing import Any, NoReturn

from polyfold.exceptions import ModelFileError

MAGIC = b"polyfold model\n"
FORMAT = 2
DIGEST = hashlib.sha256().digest_size
# The head is a line of a few hundred bytes.
LONGEST_HEAD = 100_000
# Contents up to this size are compressed: most of them are names and brackets. Larger ones are mostly arrays.
SMALL = 2**22
# Bytes of the length of the table. A table takes up to 25 times its length in memory, so large ones need large arrays.
LENGTH, LONGEST_TABLE, ARRAYS_PER_TABLE = 8, 2**25, 16


def pack(table: bytes, arrays: list[bytes | memoryview], about: dict[str, Any]) -> list[bytes | memoryview]:
    """Return the bytes of a file, in parts."""
    content = [len(table).to_bytes(LENGTH, "little"), table, *arrays]
    size = sum(len(part) for part in content)
    if len(table) > _longest_table(size):
        raise TypeError(f"the model has {len(table)} bytes of names and numbers outside arrays")
    if small := size <= SMALL:
        content = [zlib.compress(b"".join(content))]
    head = {"format": FORMAT, "polyfold": version("polyfold"), "compressed": small, **about}
    parts = [MAGIC + json.dumps(head).encode() + b"\n", *content]
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    return [*parts, state.digest()]


def unpack(body: bytes, name: str) -> tuple[dict[str, Any], memoryview, memoryview]:
    """Return the head, the table and the arrays of a file that is complete and not newer than this version."""
    if not body.startswith(MAGIC):
        raise ModelFileError(f"{name} must be a file written by polyfold.save, got {_guess(body)}.")
    if hashlib.sha256(memoryview(body)[:-DIGEST]).digest() != body[-DIGEST:]:
        raise ModelFileError(
            f"{name} must be as polyfold.save wrote it, got one whose checksum does not match: it was cut short or "
            "altered; copy it again, or save the model again."
        )
    end = body.find(b"\n", len(MAGIC), len(MAGIC) + LONGEST_HEAD)
    head = _head(body[len(MAGIC) : end], name)
    content = memoryview(body)[end + 1 : -DIGEST]
    if head.get("compressed"):
        content = memoryview(_inflated(content, name))
    length = int.from_bytes(content[:LENGTH], "little")
    if length > min(len(content) - LENGTH, _longest_table(len(content))):
        raise ModelFileError(
            f"{name} must hold what polyfold.save wrote, got a table of {length} bytes in a content of {len(content)}."
        )
    return head, content[LENGTH : LENGTH + length], content[LENGTH + length :]


def _head(line: bytes, name: str) -> dict[str, Any]:
    try:
        head = json.loads(line, parse_constant=_no_number, parse_float=_no_number)
        number, writer = int(head["format"]), _minor(head["polyfold"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(
            f"{name} must have a head with format and version, got one that cannot be read ({error})."
        ) from error
    if number > FORMAT or writer > _minor(version("polyfold")):
        raise ModelFileError(
            f"{name} must be of polyfold {version('polyfold')} or older, got one of polyfold {head['polyfold']} "
            f"(format {number}); install polyfold {head['polyfold']} or newer."
        )
    if number < FORMAT:
        raise ModelFileError(
            f"{name} must have format {FORMAT}, got format {number} of a development version; fit and save again."
        )
    return head


def _longest_table(size: int) -> int:
    return LONGEST_TABLE + size // ARRAYS_PER_TABLE


def _inflated(stored: memoryview, name: str) -> bytes:
    """Undo the compression of a small content, and of nothing that would not stay small."""
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(stored, SMALL + 1)
    except zlib.error as error:
        raise ModelFileError(f"{name} must hold what polyfold.save wrote, got another content ({error}).") from error
    if len(content) > SMALL or not stream.eof:
        raise ModelFileError(
            f"{name} must hold what polyfold.save wrote, got a content that grows beyond {SMALL} bytes."
        )
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number that polyfold.save writes")


def _minor(text: str) -> tuple[int, int]:
    """Major and minor number of a version; within one minor version, files go both ways."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _guess(body: bytes) -> str:
    if not body:
        return "an empty file"
    if body[:1] == b"\x80":
        return "what looks like a pickle, which can run code of whoever wrote it and is not opened here"
    return "an archive of another kind" if body[:2] == b"PK" else "something else"
