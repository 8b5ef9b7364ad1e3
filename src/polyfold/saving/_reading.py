"""Build a model from its table and the bytes of its arrays (`_writing` describes both).

A line can refer to earlier lines only, and takes its bytes from where the line before it stopped. What a part reaches,
through references of references, is counted before the part is made. So the time and the memory for any file are
bounded by its size.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from polyfold.saving._checks import check_part
from polyfold.saving._trust import named
from polyfold.saving._writing import CALL, KEYS, KINDS, METRICS, TREES

# Bytes of the table that are parsed at a time, and brackets per line of them: more would be nested lists, which take 20
# times their length in memory.
CHUNK, BRACKETS = 2**16, 20
# Bytes that a part may reach, in times of the content: a list can name one array or one list any number of times, and
# whatever joins the arrays or walks through the lists would not end. Fitted models reach up to three times the content,
# all their parts together 30 times. The constant is for small files.
REACHED, REACHED_BY_ALL, REFERENCE, SMALL_FILE = 16, 256, 8, 2**24
# Bytes that sparse matrices, search trees and indices may copy, in times of the content.
COPIED = 3
# Numbers beyond this collide in a dictionary, which then takes the square of its length in time.
LARGEST_KEY = 2**53
SPARSE = {
    f"{kind}_{form}": getattr(sp, f"{kind}_{form}") for kind in ("csr", "csc", "coo") for form in ("array", "matrix")
}


def names_in(table: memoryview) -> list[str]:
    """Return every type, function and method that a table names: its first line."""
    names = next(_lines(table), None)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the table has no list of names")
    return names


def build(table: memoryview, content: memoryview) -> Any:
    """Return the object that a table describes; every name in it must be trusted before."""
    lines = _lines(table)
    reader = _Reader(next(lines), content, SMALL_FILE + len(table) + len(content))
    for line in lines:
        reader.append(line)
    if not reader.parts or reader.taken != len(content):
        raise ValueError(f"the table describes {reader.taken} bytes of arrays, the file has {len(content)}")
    return reader.parts[-1]


def _lines(table: memoryview) -> Iterator[Any]:
    """Parse the table, many lines at a time because that is faster."""
    text, start = bytes(table), 0
    while start < len(text):
        end = text.find(b"\n", start + CHUNK if start else 0)
        end = len(text) - 1 if end < 0 else end
        chunk, start = text[start:end], end + 1
        if chunk.count(b"[") > BRACKETS * (2 + chunk.count(b"\n")) or b"{" in chunk:
            raise ValueError("a line of the table holds nested lists")
        yield from json.loads(b"[" + chunk.replace(b"\n", b",") + b"]")


class _Reader:
    """Names, parts made so far, and the bytes that are left."""

    def __init__(self, names: list[str], content: memoryview, size: int) -> None:
        self.names, self.parts, self.size = names, [], size
        self.content, self.taken, self.copied = content, 0, 0
        self.reached, self.reached_by_all = [0], 0  # bytes: of every part, the last one being made, and their sum
        self.used: set[int] = set()

    def append(self, line: Any) -> None:
        """Make the part of a line."""
        part = self.part(line)
        self.parts.append(part)
        self._count(_size(part))
        self.reached.append(0)

    def _count(self, reached: int) -> None:
        self.reached[-1] += reached
        self.reached_by_all += reached
        if self.reached[-1] > REACHED * self.size or self.reached_by_all > REACHED_BY_ALL * self.size:
            raise ValueError("the parts contain others too many times")

    def part(self, line: Any) -> Any:
        if not isinstance(line, list):
            return line
        kind, *rest = line
        maker: Callable[..., Any] | None = getattr(self, f"_make_{_text(kind)}", None)
        if maker is not None:
            return maker(*rest)
        if kind in SPARSE:
            return self._sparse(SPARSE[kind], *rest)
        if kind in TREES:
            return self._tree(TREES[kind], *rest)
        raise ValueError(f"{kind!r} is not a kind of part")

    def get(self, position: Any) -> Any:
        if type(position) is not int or not 0 <= position < len(self.parts):
            raise ValueError(f"{position!r} is not the position of an earlier part")
        self._count(REFERENCE + self.reached[position])
        return self.parts[position]

    def get_once(self, position: Any) -> Any:
        """Return a part that is copied into another one, which no two parts share."""
        part = self.get(position)
        if part is not None and position in self.used:
            raise ValueError("two objects have one state")
        self.used.add(position)
        return part

    def copy(self, size: int) -> None:
        """Count bytes that are about to be copied."""
        self.copied += size
        if self.copied > COPIED * (self.size - SMALL_FILE):
            raise ValueError("too many parts copy the same arrays")

    def several(self, positions: Iterable[Any]) -> list[Any]:
        return [self.get(position) for position in positions]

    def name(self, number: Any) -> str:
        if type(number) is not int or not 0 <= number < len(self.names):
            raise ValueError(f"{number!r} is not the number of a name")
        return self.names[number]

    def shape(self, shape: Any) -> tuple[int, ...]:
        # Sizes of an array without entries and of a sparse matrix have no other bound.
        if not isinstance(shape, list) or any(type(size) is not int or not 0 <= size <= self.size for size in shape):
            raise ValueError(f"{shape!r} is not a shape")
        return tuple(shape)

    def take(self, length: int) -> memoryview:
        if type(length) is not int or not 0 <= length <= len(self.content) - self.taken:
            raise ValueError(f"an array needs {length} bytes, {len(self.content) - self.taken} are left")
        self.taken += length
        return self.content[self.taken - length : self.taken]

    def _make_list(self, *positions: Any) -> list[Any]:
        return self.several(positions)

    def _make_tuple(self, *positions: Any) -> tuple[Any, ...]:
        return tuple(self.several(positions))

    def _make_set(self, *positions: Any) -> set[Any]:
        return {_key(entry) for entry in self.several(positions)}

    def _make_frozenset(self, *positions: Any) -> frozenset[Any]:
        return frozenset(self._make_set(*positions))

    def _make_dict(self, *positions: Any) -> dict[Any, Any]:
        entries = self.several(positions)
        return {_key(key): value for key, value in zip(entries[::2], entries[1::2], strict=True)}

    def _make_slice(self, *positions: Any) -> slice:
        return slice(*self.several(positions))

    def _make_bytes(self, length: int) -> bytes:
        return bytes(self.take(length))

    def _make_dtype(self, given: Any) -> np.dtype[Any]:
        return _dtype(given)

    def _make_scalar(self, given: Any) -> Any:
        return self._make_array(given, [], "C")[()]

    def _make_array(self, given: Any, shape: Any, order: str) -> np.ndarray:
        dtype, shape = _dtype(given), self.shape(shape)
        values = np.frombuffer(self.take(dtype.itemsize * math.prod(shape)), dtype=dtype)
        # A copy: aligned, writable, and without the rest of the file.
        return values.reshape(shape, order="F" if order == "F" else "C").copy("K")

    def _make_objects(self, shape: Any, *positions: Any) -> np.ndarray:
        shape, out = self.shape(shape), np.empty(len(positions), dtype=object)
        for place, position in enumerate(positions):
            out[place] = self.get(position)
        if any(isinstance(entry, np.ndarray) for entry in out):  # NumPy frees nested arrays by recursion
            raise ValueError("an array of objects cannot hold arrays")
        return out.reshape(shape)

    def _make_masked(self, data: int, mask: int) -> Any:
        values, hidden = self.several((data, mask))
        arrays = type(values) is type(hidden) is np.ndarray
        if not arrays or (hidden.shape, hidden.dtype) != (values.shape, np.dtype(bool)):
            raise ValueError("a masked array needs an array and a mask of its shape")
        self.copy(values.nbytes)
        values = values.copy()
        values[hidden] = np.zeros((), dtype=values.dtype)  # a check of the array would not see them
        return np.ma.MaskedArray(values, hidden)

    def _make_RandomState(self, position: int) -> np.random.RandomState:  # noqa: N802
        state = self.get_once(position)
        if state["bit_generator"] != "MT19937" or not 0 <= int(state["state"]["pos"]) <= 624:
            raise ValueError("the state of a random generator is out of range")
        generator = np.random.RandomState()
        generator.set_state(state)
        return generator

    def _make_Generator(self, position: int) -> np.random.Generator:  # noqa: N802
        bits = np.random.PCG64(0)
        bits.state = self.get_once(position)
        return np.random.Generator(bits)

    def _make_name(self, number: int) -> Any:
        return named(self.name(number))

    def _make_method(self, position: int, number: int) -> Any:
        part, (owner, _, name) = self.get(position), self.name(number).rpartition(".")
        if type(part) is not named(owner):
            raise ValueError(f"{name} belongs to another type than {type(part).__name__}")
        return getattr(part, name)

    def _make_object(self, number: int, arguments: int, state: int, items: int | None) -> Any:
        maker = named(self.name(number))
        # numpy.void(10**10) would be 10 GB.
        if not isinstance(maker, type) or issubclass(maker, np.generic) or maker.__module__ == "builtins":
            raise ValueError(f"{self.name(number)} is not a class of objects")
        return self._with_state(maker.__new__(maker, *self.get(arguments)), state, items)

    def _make_call(self, number: int, arguments: int, state: int, items: int | None) -> Any:
        name = self.name(number)
        if not name.endswith(CALL):
            raise ValueError(f"{name} is not to be called")
        return self._with_state(named(name.removesuffix(CALL))(*self.get(arguments)), state, items)

    def _with_state(self, part: Any, position: int, items: int | None) -> Any:
        state = self.get_once(position)
        if hasattr(part, "__setstate__") and state is not None:
            if not isinstance(part, BaseEstimator):  # such as an index, which copies its rows
                self.copy(self.reached[position])
            part.__setstate__(state)
        elif state is not None:
            vars(part).update(state)
        for key, value in {} if items is None else self.get_once(items).items():
            part[key] = value
        check_part(part)
        return part

    def _sparse(self, form: Any, shape: Any, data: int, *places: Any) -> Any:
        shape, arrays = self.shape(shape), self.several((data, *places))
        if any(not isinstance(array, np.ndarray) or array.ndim != 1 for array in arrays) or len(shape) != 2:
            raise ValueError("a sparse matrix needs lists of entries and two sizes")
        if any(array.dtype.kind != "i" for array in arrays[1:]):
            raise ValueError("the places of the entries of a sparse matrix must be integers")
        self.copy(sum(array.nbytes for array in arrays))
        entries, *where = arrays
        if form in (sp.coo_array, sp.coo_matrix):
            return form((entries, tuple(where)), shape)  # checks the places
        matrix = form((entries, *where), shape)
        matrix.check_format(full_check=True)
        return matrix

    def _tree(self, form: Any, data: int, leaf_size: int, metric: str, power: float | None) -> Any:
        if metric not in METRICS:
            raise ValueError(f"{metric!r} is not a metric of search trees")
        rows = self.get(data)
        if not isinstance(rows, np.ndarray) or rows.dtype != np.float64 or not np.isfinite(rows).all():
            raise ValueError("a search tree needs rows of finite numbers")
        self.copy(rows.nbytes)
        return form(rows, leaf_size, metric=metric, **({} if power is None else {"p": power}))


def _size(part: Any) -> int:
    """Return the bytes of an array or text; an array without entries counts as one number per row or column."""
    if isinstance(part, np.ndarray):
        return part.nbytes or 8 * max(part.shape, default=0)
    return 4 * len(part) if isinstance(part, str) else 0


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a name")
    return value


def _key(value: Any) -> Any:
    if type(value) not in KEYS:
        raise ValueError(f"a {type(value).__name__} is not a key")
    if isinstance(value, int) and abs(value) > LARGEST_KEY:
        raise ValueError(f"the key {value} is too large")
    return value


def _dtype(given: Any) -> np.dtype[Any]:
    if isinstance(given, list):
        size, *fields = given
        names, kinds, offsets = zip(*fields, strict=True)
        # NumPy checks that the fields are within the size.
        layout: Any = {"names": [_text(name) for name in names], "formats": [_dtype(kind) for kind in kinds]}
        layout |= {"offsets": list(offsets), "itemsize": size}
        return np.dtype(layout)
    return _plain_dtype(_text(given))


@lru_cache(64)
def _plain_dtype(given: str) -> np.dtype[Any]:
    dtype = np.dtype(given)
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        raise ValueError(f"{given!r} is not a dtype of stored arrays")
    return dtype
