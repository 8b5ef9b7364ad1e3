"""Structure-aware changes of model files: lines, references, names, shapes, dtypes, values of arrays, sizes.

Some changes are made to the loaded model, before it is saved again: its attributes then disagree with each other, but
the file is otherwise sound.
"""

import contextlib
import json

import numpy as np
import scipy.sparse as sp

from polyfold.saving import _container, _models
from polyfold.saving._writing import Writer
from tests.saving.forging import itemsize, parsed

SCALARS = [None, True, 0, 1, -1, 2, 7, 63, 2**31, 2**62, -(2**70), 10**9, 0.5, -0.0, 1e308, float("nan"), float("inf")]
TEXTS = ["", "euclidean", "cosine", "linear", "precomputed", "exact", "graph", "auto", "x" * 1000, "\0", "MT19937"]
DTYPES = ["<f8", "<f4", "<i8", "<i4", "|u1", "|i1", "<u2", "<u4", "<u8", "|b1", "<c16", "<U3", "|S4", "<M8[s]", ">i4"]
NAMES = [
    *("os.system", "builtins.eval", "subprocess.Popen", "numpy.void", "numpy.load", "sklearn.svm._classes.SVC"),
    *("polyfold.bootstrap._encoder.Encoder", "polyfold.bootstrap._output.Output", "builtins.int", "numpy.add"),
    *("polyfold.neighbors._engines._Faiss", "sklearn.neighbors._unsupervised.NearestNeighbors", "builtins.open()"),
]
TRUSTED = ["tests.catalog.user_kernel"]
INTEGERS = [0, 1, -1, -2, 2**7, 255, 256, 2**15, 2**16, 2**31 - 1, -(2**31), 2**32, 2**62, -(2**62), 1000, 36]


def mutated(body: bytes, rng: np.random.Generator) -> bytes:
    """Return the file with one to three changes and a valid checksum."""
    choice = rng.random()
    if choice < 0.05:
        return _bytes_changed(body, rng)
    if choice < 0.35:
        return _attribute_changed(body, rng)
    forged = parsed(body)
    for _ in range(rng.integers(1, 4)):
        # After another one, a change may have nothing left to change.
        with contextlib.suppress(ValueError, TypeError, IndexError, AttributeError):
            MUTATIONS[rng.integers(len(MUTATIONS))](forged, rng)
    return forged.packed()


def _bytes_changed(body, rng):
    """Change bytes of the content below the checksum."""
    _, table, arrays = _container.unpack(body, "")
    content = bytearray(bytes(table))
    for place in rng.integers(len(content), size=rng.integers(1, 6)):
        content[place] = rng.integers(256)
    return b"".join(_container.pack(bytes(content), [bytes(arrays)], {}))


def _attribute_changed(body, rng):
    """Replace an attribute of the model or of any object in it: counts, empty or cut arrays, repeated entries."""
    _, table, arrays = _container.unpack(body, "")
    model = _models._rebuild(table, arrays, TRUSTED, "")
    for _ in range(rng.integers(1, 3)):
        state, name = _pick(list(_attributes(model)), rng)
        with contextlib.suppress(ValueError, IndexError, TypeError):
            state[name] = _other_value(state[name], rng)
    writer = Writer()
    try:
        writer.add(model)
        return b"".join(_container.pack(writer.table(), writer.arrays, {"class": "forged"}))
    except (TypeError, AttributeError, ValueError):  # the value cannot be stored there
        return body


def _attributes(part, depth=8):
    """Yield the dictionary and the name of every attribute that can be reached from an object."""
    if not isinstance(getattr(part, "__dict__", None), dict) or isinstance(part, type) or not depth:
        return
    for name, value in vars(part).items():
        yield vars(part), name
        several = value[:3] if isinstance(value, list | tuple) else [value]
        for entry in value.values() if type(value) is dict else several:
            yield from _attributes(entry, depth - 1)


def _other_value(value, rng):
    if isinstance(value, bool | int | float | np.number | type(None)):
        return _pick([*SCALARS, 200_000, 200_000], rng)
    if sp.issparse(value):
        return _pick([value[:0], value[:, :1], sp.vstack([value, value]).tocsr()], rng)
    if isinstance(value, np.ndarray) and value.ndim:
        cut = [value[:0], value[:1], value[..., :1], value[..., :0], np.concatenate([value, value]), value.T]
        return np.array(_pick([*cut, np.concatenate([value, value], axis=-1)], rng))
    if isinstance(value, list | tuple) and value:
        repeated = [_pick(value, rng)] * int(10 ** rng.integers(1, 6))
        return type(value)(_pick([value[:0], value[:-1], [*value, *value], repeated], rng))
    if isinstance(value, dict) and value:
        key = _pick(list(value), rng)
        return {**value, key: _other_value(value[key], rng)}
    return _pick(TEXTS, rng) if isinstance(value, str) else value


def _pick(items, rng):
    return items[rng.integers(len(items))]


def _lists(forged, *kinds):
    return [line for line in forged.lines if isinstance(line, list) and line and (not kinds or line[0] in kinds)]


def _values(forged, rng):
    """Overwrite some values of an array, most often of integers."""
    spans = [(place, span) for place, span in forged.spans() if span.stop > span.start]
    integers = [(place, span) for place, span in spans if str(forged.lines[place][1])[1:2] in ("i", "u")]
    if not spans:
        return
    place, span = _pick(integers if integers and rng.random() < 0.7 else spans, rng)
    kind = forged.lines[place][1]
    if not isinstance(kind, str) or kind[1] not in "iufb":
        forged.arrays[_pick(range(span.start, span.stop), rng)] = rng.integers(256)
        return
    array = np.frombuffer(bytes(forged.arrays[span]), dtype=kind).copy()
    where = rng.integers(len(array), size=len(array) if rng.random() < 0.2 else rng.integers(1, 4))
    if kind[1] == "f":
        array[where] = _pick([np.nan, np.inf, -np.inf, 0.0, 1e300, -1e-300, 1e30], rng)
    else:
        array[where] = np.array(_pick(INTEGERS, rng)).astype(array.dtype)
    forged.arrays[span] = array.tobytes()


def _shape(forged, rng):
    """Give an array another shape, of the same size or not."""
    if not (arrays := _lists(forged, "array")):
        return
    line = _pick(arrays, rng)
    shape, choice = line[2], rng.integers(5)
    if choice == 0:
        line[2] = shape[::-1]
    elif choice == 1:
        line[2] = [int(np.prod(shape, dtype=np.int64))]
    elif choice == 2:
        line[2] = [*shape, 1]
    elif choice == 3:
        line[2] = [1, *shape]
    else:
        line[2] = [_pick([0, 1, 2, 2**20, 2**39, -1, 1.5], rng) for _ in range(rng.integers(1, 4))]


def _dtype(forged, rng):
    """Give an array another dtype, most often of the same size."""
    if not (arrays := _lists(forged, "array", "scalar")):
        return
    line = _pick(arrays, rng)
    size = itemsize(line[1])
    same = [kind for kind in DTYPES if itemsize(kind) == size]
    line[1] = _pick(same if same and rng.random() < 0.7 else [*DTYPES, "|O", "<U0", "<V8", 5], rng)


def _rows(forged, rng):
    """Drop or repeat rows of an array, together with its bytes."""
    spans = [(p, s) for p, s in forged.spans() if forged.lines[p][0] == "array" and s.stop > s.start]
    if not spans:
        return
    place, span = _pick(spans, rng)
    line = forged.lines[place]
    if not line[2] or line[3] != "C":
        return
    step = (span.stop - span.start) // line[2][0]
    count = int(_pick([0, 1, line[2][0] - 1, line[2][0] + 1, 2 * line[2][0]], rng))
    block = bytes(forged.arrays[span])
    line[2] = [count, *line[2][1:]]
    forged.arrays[span] = (block * 2)[: count * step].ljust(count * step, b"\0")


def _reference(forged, rng):
    """Let a part refer to another one."""
    if not (lines := [line for line in _lists(forged) if any(type(entry) is int for entry in line[1:])]):
        return
    line = _pick(lines, rng)
    place = _pick([i for i, entry in enumerate(line) if i and type(entry) is int], rng)
    line[place] = int(_pick([rng.integers(len(forged.lines)), 0, -1, len(forged.lines), 2**40, line[place] - 1], rng))


def _scalar(forged, rng):
    """Replace a number or a text."""
    places = [i for i, line in enumerate(forged.lines) if not isinstance(line, list)]
    if places:
        forged.lines[_pick(places, rng)] = _pick([*SCALARS, *TEXTS], rng)


def _number_becomes(forged, rng):
    """Replace a number only: counts, sizes, seeds."""
    places = [i for i, line in enumerate(forged.lines) if isinstance(line, int | float)]
    if places:
        forged.lines[_pick(places, rng)] = _pick(SCALARS, rng)


def _line(forged, rng):
    """Copy, drop or exchange lines."""
    first, second = (int(place) for place in rng.integers(len(forged.lines), size=2))
    choice = rng.integers(4)
    if choice == 0:
        forged.lines[first] = forged.lines[second]
    elif choice == 1:
        del forged.lines[first]
    elif choice == 2:
        forged.lines.insert(first, json.loads(json.dumps(forged.lines[second])))
    else:
        forged.lines[first], forged.lines[second] = forged.lines[second], forged.lines[first]
    if not forged.lines:
        forged.lines.append(None)


def _kind(forged, rng):
    """Give a part another kind."""
    if lines := _lists(forged):
        kinds = ["list", "tuple", "set", "frozenset", "dict", "bytes", "array", "objects", "masked", "dtype", "name"]
        kinds += [
            "object",
            "call",
            "method",
            "csr_array",
            "coo_matrix",
            "KDTree",
            "BallTree",
            "RandomState",
            "Generator",
        ]
        _pick(lines, rng)[0] = _pick(kinds, rng)


def _name(forged, rng):
    """Replace a name, or let another one be used."""
    if forged.names:
        place = rng.integers(len(forged.names))
        forged.names[place] = _pick([*NAMES, *forged.names], rng)


def _length(forged, rng):
    """Shorten or lengthen a container or the bytes."""
    if rng.random() < 0.2:
        forged.arrays[:] = forged.arrays[: rng.integers(len(forged.arrays) + 1)] + rng.bytes(rng.integers(20))
    elif lines := _lists(forged, "list", "tuple", "dict", "set", "objects"):
        line = _pick(lines, rng)
        choice = rng.integers(4)
        if choice == 0:
            del line[int(rng.integers(1, len(line) + 1)) :]
        elif choice == 1:
            line.extend(line[1:])
        elif choice == 2:
            line[1:] = [_pick(line[1:], rng)] * int(_pick([10, 1000, 10**5], rng))
        else:
            line.extend([int(rng.integers(len(forged.lines)))] * int(_pick([1, 2, 5000], rng)))


def _doubling(forged, rng):
    """Insert lists of twice the list before, as the last value of a container."""
    start = len(forged.lines)
    last = forged.lines.pop()
    forged.add(["list"])
    for _ in range(int(rng.integers(5, 70))):
        forged.add(["list", *[len(forged.lines) - 1] * 2])
    if isinstance(last, list) and start > 1:
        last.append(len(forged.lines) - 1)
    forged.add(last)


MUTATIONS = [_values, _values, _values, _shape, _dtype, _rows, _reference, _reference, _scalar, _number_becomes]
MUTATIONS += [_number_becomes, _line, _kind, _name, _length, _doubling]
