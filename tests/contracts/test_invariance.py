"""The result depends on the data, not on their origin, unit, order or axes."""

from functools import cache

import numpy as np
import pytest

from tests.catalog import ENTRIES, entries
from tests.contracts.answers import answers, assert_close, assert_same, documented_warnings, fitted
from tests.contracts.samples import sheet


@cache
def _reference(name, exactly, dtype):
    entry = next(e for e in ENTRIES if e.name == name)
    entry = entry.exactly() if exactly else entry
    X = entry.given(sheet()).astype(dtype)
    with documented_warnings():
        return answers(fitted(entry, X), X)


def reference(entry, exactly=False, dtype=np.float64):
    """Answers on the sheet as it is, computed once."""
    return _reference(entry.name, exactly, dtype)


@pytest.mark.parametrize("entry", entries("origin"), ids=repr)
@pytest.mark.parametrize(("power", "column"), [(20, None), (20, 1), (9, None)])
def test_origin_does_not_matter(entry, power, column):
    X = sheet()
    offset = np.zeros(X.shape[1])
    # One offset for all columns, or for a single one; exact in binary, so that only the arithmetic may lose digits.
    offset[slice(None) if column is None else column] = 2.0**power
    moved = entry.given(X + offset)
    with documented_warnings():
        found = answers(fitted(entry, moved), moved)
    # 2²⁰ spreads away, 2⁻³² of a spread is left: a millionth is what the last digits of the input still carry.
    assert_same(found, reference(entry), max(entry.precision, 1e-6))


@pytest.mark.parametrize("entry", entries("scale"), ids=repr)
@pytest.mark.parametrize("power", [200, -200, -34])  # even, so that the root of a scaled kernel matrix is exact
def test_unit_does_not_matter(entry, power):
    scaled = entry.given(sheet()) * 2.0**power
    with documented_warnings():
        found = answers(fitted(entry, scaled), scaled)
    assert_same(found, reference(entry), entry.precision, factor=2.0 ** (power * entry.power))


@pytest.mark.parametrize("entry", entries("origin", "single"), ids=repr)
def test_origin_does_not_matter_in_single_precision(entry):
    far = entry.given(sheet() + 2.0**11).astype(np.float32)  # 2¹¹ and steps of 2⁻¹²: all 24 digits are used
    with documented_warnings():
        found = answers(fitted(entry, far), far)
    assert_same(found, reference(entry, dtype=np.float32), max(entry.precision, 1e-5))


@pytest.mark.parametrize("entry", entries("scale", "single"), ids=repr)
def test_unit_does_not_matter_in_single_precision(entry):
    for power in (-100, -66, 40):  # 1e-30, 1e-20, 1e12: squares of the first two are no numbers of single precision
        scaled = entry.given(sheet()).astype(np.float32) * np.float32(2.0**power)
        with documented_warnings():
            found = answers(fitted(entry, scaled), scaled)
        expected = reference(entry, dtype=np.float32)
        assert_same(found, expected, max(entry.precision, 1e-5), factor=2.0 ** (power * entry.power))


@pytest.mark.parametrize("entry", entries("order"), ids=repr)
def test_order_of_rows_does_not_matter(entry):
    X = sheet()
    order = np.random.RandomState(0).permutation(len(X))
    y = entry.y(len(X))
    with documented_warnings():
        model = fitted(entry.exactly(), entry.given(X[order]), None if y is None else y[order])
        found = answers(model, entry.given(X, X[order]), names=order)
    assert_same(found, reference(entry, exactly=True), entry.precision)


def rotation(seed, size):
    """Return a random rotation."""
    return np.linalg.qr(np.random.RandomState(seed).standard_normal((size, size)))[0]


@pytest.mark.parametrize("entry", entries("rotation"), ids=repr)
def test_axes_do_not_matter(entry):
    X = sheet() @ rotation(0, 4)
    with documented_warnings():
        found = answers(fitted(entry, X), X)
    assert_same(found, reference(entry), entry.precision)


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES if "rotation" in e.exempt and "principal" in e.exempt["rotation"]], ids=repr
)
def test_losses_do_not_depend_on_axes(entry):
    losses = []
    for X in (sheet(), sheet() @ rotation(0, 4)):
        with documented_warnings():
            model = fitted(entry, X)
        losses.append(model.loss_ if hasattr(model, "loss_") else np.mean((model.reconstruct_modules(X) - X) ** 2))
    # Iterative solvers start at random in the axes and stop within their tolerance, 1e-4.
    assert_close(losses[1], losses[0], 1e-2 if "closed" not in entry.name else 1e-9)
