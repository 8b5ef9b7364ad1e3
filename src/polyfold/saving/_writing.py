"""Turn a model into a table of parts and the bytes of its arrays.

The first line of the table lists the names of all types and functions, as JSON. Every further line is one part: a
number, a text, null, or a list that begins with its kind and refers to earlier parts by their position. The last line
is the model. The bytes of arrays follow the table, in the order of their lines, so every byte belongs to one array. A
reader therefore needs time and memory in proportion to the size of the file. An object that is used twice
is stored once, and is one object again after loading.
"""

import copyreg
import json
import sys
from collections.abc import Iterable
from types import MethodType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import BallTree, KDTree

SCALARS = (type(None), bool, int, float, str)
CONTAINERS = (list, tuple, set, frozenset)
# Keys of dictionaries and entries of sets. Others, such as complex numbers, can be chosen so that all have one hash.
KEYS = (*SCALARS, np.str_, np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.float64)
# Kinds of dtypes whose bytes are values.
KINDS = "biufcSUmM"
# Metrics of search trees, which are rebuilt from their rows.
METRICS = ("euclidean", "manhattan", "chebyshev", "minkowski")
# Marks the names of functions and classes that are called with arguments from the file.
CALL = "()"
TREES = {"KDTree": KDTree, "BallTree": BallTree}


class Writer:
    """Collects the parts of an object.

    Attributes
    ----------
    lines : list of str
        The lines of the table after the first one.
    names : dict
        Names of types and functions, and their numbers.
    arrays : list of bytes-like
        The bytes after it.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.arrays: list[bytes | memoryview] = []
        self.names: dict[str, int] = {}
        self._position: dict[Any, int | None] = {}
        self._alive: list[Any] = []  # an address must not be used twice

    def add(self, part: Any) -> int:
        """Return the position of a part, written if it is new."""
        key = (type(part), repr(part)) if type(part) in SCALARS else id(part)
        if key not in self._position:
            self._position[key] = None
            self._alive.append(part)
            # Arrays append their bytes after the parts that they refer to.
            line = _as_json(self._line(part))
            self._position[key] = len(self.lines)
            self.lines.append(line)
        position = self._position[key]
        if position is None:
            raise TypeError(f"{type(part).__name__} refers to itself")
        return position

    def table(self) -> bytes:
        """Return the table, the names first."""
        return "".join(f"{line}\n" for line in [json.dumps(list(self.names)), *self.lines]).encode()

    def _name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def _line(self, part: Any) -> Any:
        kind = type(part)
        if kind in SCALARS:
            return part
        if kind in CONTAINERS:
            if kind in (set, frozenset):
                _check_keys(part)
            return [kind.__name__, *(self.add(entry) for entry in part)]
        if kind is dict:
            return ["dict", *self._items(part)]
        if kind is slice:
            return ["slice", *(self.add(end) for end in (part.start, part.stop, part.step))]
        if kind is bytes:
            self.arrays.append(part)
            return ["bytes", len(part)]
        if isinstance(part, np.ndarray | np.generic | np.dtype):
            return self._array_line(part)
        if sp.issparse(part):
            return self._sparse_line(part)
        if kind in TREES.values():
            return self._tree_line(part)
        if isinstance(part, np.random.RandomState):
            return ["RandomState", self.add(part.get_state(legacy=False))]
        if isinstance(part, np.random.Generator) and type(part.bit_generator) is np.random.PCG64:
            return ["Generator", self.add(part.bit_generator.state)]
        if isinstance(part, MethodType):
            return ["method", self.add(part.__self__), self._name(f"{name_of(type(part.__self__))}.{part.__name__}")]
        if isinstance(part, np.ufunc) or (callable(part) and hasattr(part, "__qualname__")):
            return ["name", self._name(name_of(part))]
        return self._object_line(part)

    def _items(self, pairs: dict[Any, Any]) -> list[int]:
        _check_keys(pairs)
        return [self.add(entry) for pair in pairs.items() for entry in pair]

    def _array_line(self, part: Any) -> list[Any]:
        if isinstance(part, np.dtype):
            return ["dtype", describe_dtype(part)]
        if isinstance(part, np.ma.MaskedArray):
            return ["masked", self.add(part.data), self.add(np.ma.getmaskarray(part))]
        if part.dtype == object:
            if any(isinstance(entry, np.ndarray) for entry in part.ravel().tolist()):
                raise TypeError("an array of arrays is not a plain array")
            return ["objects", list(part.shape), *(self.add(entry) for entry in part.ravel().tolist())]
        if type(part) not in (np.ndarray, np.memmap) and not isinstance(part, np.generic):
            raise TypeError(f"{type(part).__name__} is not a plain array")
        order = "F" if part.ndim > 1 and part.flags.f_contiguous and not part.flags.c_contiguous else "C"
        kind = describe_dtype(part.dtype)
        self.arrays.append(np.ravel(part, order=order).view(np.uint8).data if part.size else b"")
        return ["scalar", kind] if isinstance(part, np.generic) else ["array", kind, list(part.shape), order]

    def _sparse_line(self, part: Any) -> list[Any]:
        if part.format not in ("csr", "csc", "coo"):
            raise TypeError(f"{type(part).__name__} is not a CSR, CSC or COO matrix")
        places = list(part.coords) if part.format == "coo" else [part.indices, part.indptr]
        shape = [int(size) for size in part.shape]
        return [type(part).__name__, shape, self.add(part.data), *(self.add(place) for place in places)]

    def _tree_line(self, part: Any) -> list[Any]:
        data, _, _, _, leaf_size, *_, metric, weights = part.__getstate__()
        name = type(metric).__name__.partition("Distance")[0].lower()
        if name not in METRICS or weights is not None:
            raise TypeError(f"{type(part).__name__} has the metric {name}, or weights")
        power = float(metric.__getstate__()[0]) if name == "minkowski" else None
        return [type(part).__name__, self.add(np.asarray(data)), int(leaf_size), name, power]

    def _object_line(self, part: Any) -> list[Any]:
        make, arguments, *rest = part.__reduce_ex__(2)
        state, entries, items = (*rest, None, None, None)[:3]
        if entries is not None:
            raise TypeError(f"{type(part).__name__} is a list of its own")
        if make is copyreg.__newobj__:
            kind, name, arguments = "object", name_of(arguments[0]), arguments[1:]
        else:
            kind, name = "call", name_of(make) + CALL
        pairs = None if items is None else self.add(dict(items))
        return [kind, self._name(name), self.add(tuple(arguments)), self.add(state), pairs]


def _as_json(line: Any) -> str:
    """Return a line of the table; brackets in texts are escaped, because the reader counts brackets."""
    text = json.dumps(line).replace("{", r"\u007b")
    return text.replace("[", r"\u005b") if isinstance(line, str) else text


def _check_keys(keys: Iterable[Any]) -> None:
    if strange := [key for key in keys if type(key) not in KEYS]:
        raise TypeError(f"{strange[0]!r} is a key; keys must be numbers or texts")


def describe_dtype(dtype: np.dtype[Any]) -> Any:
    """Return a dtype as a text, or the bytes, names, dtypes and offsets of records."""
    if dtype.fields is not None:
        fields = [[name, describe_dtype(kind), offset] for name, (kind, offset, *_) in dtype.fields.items()]
        return [dtype.itemsize, *fields]
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        raise TypeError(f"arrays of dtype {dtype} cannot be stored")
    return dtype.str


def name_of(part: Any) -> str:
    """Return the name under which another process can import a class or function."""
    attribute = part.__name__
    for module in (getattr(part, "__module__", None), "numpy", "scipy.special"):
        if module != "__main__" and getattr(sys.modules.get(module or ""), attribute, None) is part:
            return f"{module}.{attribute}"
    raise UnreachableError(f"{getattr(part, '__module__', None)}.{getattr(part, '__qualname__', attribute)}")


class UnreachableError(TypeError):
    """A function or class that another process cannot import, such as a lambda."""
