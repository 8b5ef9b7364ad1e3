"""What a fitted model says about points, in a form that can be compared, and the comparison."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from polyfold.exceptions import DegenerateDataWarning, GraphWarning, GuessWarning, ScaleWarning

# What the library documents about data that carry too little, and nothing else.
DOCUMENTED = (DegenerateDataWarning, GraphWarning, GuessWarning, ScaleWarning, ConvergenceWarning)


@contextmanager
def documented_warnings() -> Iterator[None]:
    """Let the library say that data are degenerate; any other warning stays an error."""
    with warnings.catch_warnings():
        for category in DOCUMENTED:
            warnings.simplefilter("ignore", category)
        yield


def fitted(entry, given, y=None):
    """Fit an unfitted copy, with targets where the entry takes them."""
    n = given.shape[0] if hasattr(given, "shape") else len(given)
    return entry.new().fit(given, entry.y(n) if y is None else y)


def answers(model, given, names=None):
    """Return all that a fitted model says about points, by name; `names` replaces row numbers of neighbours."""
    found = {}
    if hasattr(model, "transform"):
        output = model.transform(given)
        if sp.issparse(output):
            found["graph"] = _renamed(output.toarray(), names)
        else:
            found["coordinates"] = np.asarray(output)
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(given)
    elif hasattr(model, "predict"):
        found["predictions"] = np.asarray(model.predict(given))
    if hasattr(model, "kneighbors"):
        distances, indices = model.kneighbors(given)
        found["distances"] = distances
        found["indices"] = indices if names is None else np.asarray(names)[indices]
    assert found, f"{model!r} has nothing to say"
    return found


def _renamed(graph, names):
    """Return the graph with the column of every training point at the place of its name."""
    if names is None:
        return graph
    out = np.empty_like(graph)
    out[:, names] = graph
    return out


def same_signs(Z, reference):
    """Return `Z` with the signs of its columns turned to those of `reference`."""
    agreement = np.sum(np.asarray(Z, dtype=np.float64) * reference, axis=0)
    return Z * np.where(agreement < 0, -1.0, 1.0)


def as_dense(values):
    """Return an array of the values, which may be sparse."""
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def assert_close(found, expected, precision):
    """Assert finite arrays whose largest difference is at most `precision` of the largest expected value."""
    found, expected = (as_dense(values).astype(np.float64) for values in (found, expected))
    assert found.shape == expected.shape, f"shape {found.shape} instead of {expected.shape}"
    assert np.isfinite(found).all(), "NaN or infinite values"
    gap, size = float(np.abs(found - expected).max()), float(np.abs(expected).max())
    assert gap <= precision * size, f"differs by {gap / size if size else gap:.3g} of the largest value {size:.3g}"


def assert_same(found, expected, precision, factor=1.0):
    """Assert equal answers: numbers of rows and clusters exactly, the rest to `precision`, coordinates up to signs.

    `factor` is what coordinates and distances are expected to be multiplied by.
    """
    assert found.keys() == expected.keys()
    for name, reference in expected.items():
        value = np.asarray(found[name])
        if np.issubdtype(reference.dtype, np.integer):
            np.testing.assert_array_equal(value, reference, err_msg=name)
            continue
        if name in ("coordinates", "distances", "graph"):
            value = value.astype(np.float64) / factor
        if name == "coordinates" and value.shape == reference.shape:
            value = same_signs(value, reference)
        assert_close(value, reference, precision)


def assert_finite(found):
    """Assert that no answer is NaN or infinite."""
    for name, value in found.items():
        assert np.isfinite(value).all(), f"{name}: NaN or infinite values"


def assert_copies_agree(found, copies, precision):
    """Assert that rows which stand `copies` times one after the other have one answer."""
    for name, value in found.items():
        if name in ("indices", "graph"):  # of two copies either may be the neighbour
            continue
        groups = np.asarray(value, dtype=np.float64).reshape(-1, copies, *value.shape[1:])
        assert_close(groups, np.broadcast_to(groups[:, :1], groups.shape), precision)


def assert_clear_refusal(error):
    """Assert that an error is a ValueError of our own making: numerical libraries' errors explain nothing."""
    assert isinstance(error, ValueError), f"{type(error).__name__}: {error}"
    assert not isinstance(error, np.linalg.LinAlgError), f"{type(error).__name__}: {error}"
    message = str(error)
    assert len(message.split()) >= 5, f"too short to help: {message!r}"
    for foreign in ("operands", "array must not contain", "shape mismatch", "zero-size", "leading minor", "reshape"):
        assert foreign not in message, f"an accident of numpy or scipy: {message!r}"


def assert_all(cases, check):
    """Call ``check(case)`` for every case and assert that none fails; the message names those that do, and why."""
    failures = {}
    for case in cases:
        try:
            check(case)
        except Exception as error:
            first_line = str(error).strip().partition("\n")[0]
            failures[case] = f"{type(error).__name__}: {first_line[:160]}"
    assert not failures, f"{len(failures)} of {len(cases)} cases: " + "; ".join(
        f"{c}: {m}" for c, m in failures.items()
    )
