"""A model file: one line that says what it is, one that says who wrote it, the content, and the digest of all.

Every later format keeps the first line, a second one with the key "format", and SHA-256 as the last 32 bytes, so that
a file of any version can be told from a damaged one.
"""

import hashlib
import json
import re
import zlib
from importlib.metadata import version
from typing import Any, NoReturn

from polyfold.exceptions import ModelFileError

MAGIC = b"polyfold model\n"
FORMAT = 1
DIGEST = hashlib.sha256().digest_size
# The head is a line of a few hundred bytes; what is longer is no head.
LONGEST_HEAD = 100_000
# Up to here a content is mostly names and brackets, and worth compressing; beyond, arrays, which are not.
SMALL = 2**23


def pack(content: bytes | memoryview, about: dict[str, Any]) -> list[bytes | memoryview]:
    """Put a content and what is said about it into the bytes of a file, in parts."""
    small = len(content) <= SMALL
    head = {"format": FORMAT, "polyfold": version("polyfold"), "compressed": small, **about}
    opening = MAGIC + json.dumps(head).encode() + b"\n"
    stored = zlib.compress(content) if small else content
    state = hashlib.sha256(opening)
    state.update(stored)
    return [opening, stored, state.digest()]


def unpack(body: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """Return what is said about a content, and the content, of a file that is whole and not newer than we are."""
    if not body.startswith(MAGIC):
        raise ModelFileError(f"{name} must be a file written by polyfold.save, got {_guess(body)}.")
    if hashlib.sha256(memoryview(body)[:-DIGEST]).digest() != body[-DIGEST:]:
        raise ModelFileError(
            f"{name} must be as polyfold.save wrote it, got one whose checksum does not match: it was cut short or "
            "altered; copy it again, or save the model again."
        )
    end = body.find(b"\n", len(MAGIC), len(MAGIC) + LONGEST_HEAD)
    try:
        head = json.loads(body[len(MAGIC) : end], parse_constant=_no_number, parse_float=_no_number)
        known = int(head["format"]) <= FORMAT and _minor(head["polyfold"]) <= _minor(version("polyfold"))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{name} must say who wrote it, got a head that cannot be read ({error}).") from error
    if not known:
        raise ModelFileError(
            f"{name} must be of polyfold {version('polyfold')} or older, got one of polyfold {head['polyfold']} "
            f"(format {head['format']}); install polyfold {head['polyfold']} or newer."
        )
    stored = body[end + 1 : -DIGEST]
    return head, _inflated(stored, name) if head.get("compressed") else stored


def _inflated(stored: bytes, name: str) -> bytes:
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
    raise ValueError(f"{text} is no number that polyfold.save writes")


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
