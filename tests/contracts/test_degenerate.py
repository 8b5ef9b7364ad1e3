"""Data that carry little, or far too much: an answer that is finite, or a refusal in words; never an accident."""

import numpy as np
import pytest

import polyfold as pf
from tests.catalog import ENTRIES, entries
from tests.contracts.answers import (
    answers,
    assert_clear_refusal,
    assert_close,
    assert_copies_agree,
    assert_finite,
    assert_same,
    documented_warnings,
    fitted,
)
from tests.contracts.samples import sheet


def outcome(entry, X, y=None, *, may_refuse=True):
    """Fit and ask about the training rows: finite answers, or None after a clear ValueError where that is allowed."""
    rows = entry.given(X)
    try:
        with documented_warnings():
            model = fitted(entry, rows, y)
            found = answers(model, rows)
    except Exception as error:
        assert_clear_refusal(error)
        if may_refuse:
            return None
        raise
    if hasattr(model, "embedding_"):
        found["embedding"] = model.embedding_
    assert_finite(found)
    return found


@pytest.mark.parametrize("entry", entries("copies"), ids=repr)
@pytest.mark.parametrize("copies", [2, 3])
def test_copies_of_points_have_one_answer(entry, copies):
    y = entry.y(20)
    found = outcome(
        entry, np.repeat(sheet(20), copies, axis=0), None if y is None else np.repeat(y, copies), may_refuse=False
    )
    if "embedding" in found and "train" not in entry.exempt:
        assert_close(found["embedding"], found["coordinates"], entry.precision)
    assert_copies_agree(found, copies, entry.precision)


@pytest.mark.parametrize("entry", entries("copies", only=[e for e in ENTRIES if e.transforms()]), ids=repr)
def test_copies_far_from_each_other_in_memory_have_one_answer(entry):
    found = outcome(entry, np.tile(sheet(20), (3, 1)), may_refuse=False)
    together = {name: np.stack(np.split(value, 3), axis=1).reshape(value.shape) for name, value in found.items()}
    assert_copies_agree(together, 3, entry.precision)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_more_copies_than_neighbours(entry):
    # Twelve copies fill every neighbourhood: graphs fall apart, which may be refused.
    outcome(entry, np.repeat(sheet(5), 12, axis=0))


@pytest.mark.parametrize("entry", entries("constant_columns", only=entries("rotation")), ids=repr)
@pytest.mark.parametrize("value", [0.0, 1e3])
def test_constant_columns_change_nothing(entry, value):
    """Constant columns do not change distances; only zeros leave inner products alone."""
    value = 0.0 if "origin" in entry.exempt else value
    X = sheet()
    wide = np.column_stack([X, np.full((len(X), 2), value)])
    rows = entry.given(X)
    with documented_warnings():
        expected = answers(fitted(entry, rows), rows)
    with documented_warnings():
        found = answers(fitted(entry, entry.given(wide)), entry.given(wide))
    assert_same(found, expected, entry.precision)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_constant_columns_are_harmless(entry):
    X = sheet()
    outcome(entry, np.column_stack([X, np.full((len(X), 2), 3.0), np.zeros(len(X))]), may_refuse=False)


RANK_DEFICIENT = {
    "a line": lambda rng: np.outer(rng.rand(36), [1.0, 2.0, -1.0, 0.5]),
    "a plane": lambda rng: rng.rand(36, 2) @ rng.rand(2, 5),
    "zeros and ones": lambda rng: rng.randint(0, 2, (36, 3)).astype(float),
    "one column": lambda rng: rng.rand(36, 1),
    "one point apart": lambda rng: np.eye(36)[:, :1] * np.ones((1, 3)),
    "more columns than rows": lambda rng: rng.rand(36, 50),
}


@pytest.mark.parametrize("case", RANK_DEFICIENT)
@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_too_few_directions_are_harmless(entry, case):
    X = RANK_DEFICIENT[case](np.random.RandomState(0))
    found = outcome(entry, X)
    if found is not None and "coordinates" in found and entry.takes == "rows":
        # Noise divided by a tiny eigenvalue would be many orders of magnitude larger than the data.
        size = max(np.abs(X).max(), 1.0) * np.sqrt(X.size)
        assert np.abs(found["coordinates"]).max() < 100 * size
        if "embedding" in found:
            assert_close(found["coordinates"], found["embedding"], 1e-5)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 9, 13])
def test_few_rows(entry, n):
    outcome(entry, sheet()[:n], may_refuse=n < entry.minimum)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_equal_rows_give_equal_answers_or_a_refusal(entry, value):
    found = outcome(entry, np.full((24, 4), value))
    if found is not None:
        assert_copies_agree({k: v for k, v in found.items() if np.any(v)}, 24, entry.precision)


@pytest.mark.parametrize("entry", entries("huge", only=[e for e in ENTRIES if e.takes == "rows"]), ids=repr)
@pytest.mark.parametrize("size", [1e200, -1e308])
def test_one_huge_row_is_refused_with_the_way_out(entry, size):
    X = np.array(sheet())
    X[5, 1] = size
    with pytest.raises(ValueError) as caught, documented_warnings():
        fitted(entry, X)
    assert_names_x_and_the_way_out(caught.value)


@pytest.mark.parametrize("entry", entries("huge", only=[e for e in ENTRIES if e.takes == "rows"]), ids=repr)
def test_a_huge_new_point_is_answered_or_refused(entry):
    with documented_warnings():
        model = fitted(entry, sheet())
    X = np.array(sheet()[:5])
    X[2] = 1e200
    try:
        with documented_warnings():
            found = answers(model, X)
    except Exception as error:
        assert_names_x_and_the_way_out(error)
        return
    assert_finite(found)


def assert_names_x_and_the_way_out(error):
    """Assert a message with the parameter X and advice."""
    assert_clear_refusal(error)
    message = str(error)
    assert "X" in message.replace("max", ""), f"does not name X: {message!r}"
    advice = ("scale", "divide", "drop", "remove", "clip", "standardi", "unit", "outlier", "smaller")
    assert any(word in message for word in advice), f"shows no way out: {message!r}"


def test_a_point_apart_is_seen():
    """The kernels do not lose one far point: it is where the first coordinate says it is."""
    X = np.array(sheet())
    X[7] += 50.0
    Z = fitted(next(e for e in ENTRIES if e.name == "KernelEmbedding-linear"), X).transform(X)
    assert np.abs(Z[:, 0]).argmax() == 7
    assert_close(np.ptp(Z[:, 0]), np.linalg.norm(X[7] - X.mean(axis=0)) * 36 / 35, 0.1)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
@pytest.mark.parametrize("scale", [1e-155, 1e-200, 5e-322])
def test_scales_whose_squares_vanish_are_refused(entry, scale):
    # Kernel matrices and distances of such rows are refused as well: they have as few digits.
    with documented_warnings(), pytest.raises(ValueError, match="X must have magnitudes >= 1e-150, .* multiply by"):
        fitted(entry, entry.given(sheet()) * scale)


def test_streams_whose_squares_vanish_are_refused():
    blocks = np.array_split(sheet() * 1e-160, 3)
    with pytest.raises(ValueError, match="X must have magnitudes >= 1e-150"):
        pf.ModularKernelPCA(2, 2, feature_map="nystroem", rank=5, random_state=0).fit(blocks)


def test_new_rows_may_be_as_small_as_they_are():
    X = sheet()
    model = pf.KernelEmbedding(2, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(X * 1e-200), model.transform(X * 0), atol=1e-12)


class Annotated:
    """Looks like an AnnData object: several arrays in one object, and items of the same kind without an end."""

    X, obs, var, obsm = np.zeros((30, 4)), None, None, {}
    shape = (30, 4)

    def __len__(self):
        return 30

    def __getitem__(self, item):
        return self


ANNOTATED = r'^X must be an array, got an Annotated object; pass adata\.X, or adata\.obsm\["X_pca"\]'


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_annotated_data_are_refused_by_name(entry):
    with pytest.raises(TypeError, match=ANNOTATED):
        entry.new().fit(Annotated(), None if entry.target == "none" else np.arange(30) % 2)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_masked_values_are_refused(entry):
    X = np.ma.masked_greater(sheet(30), 0.5)
    with pytest.raises(ValueError, match=r"^X must not have masked values, got \d+; fill them with X\.filled"):
        entry.new().fit(X, None if entry.target == "none" else np.arange(30) % 2)


def test_masked_arrays_without_masked_values_are_arrays():
    X = sheet(30)
    model = pf.KernelEmbedding(2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.transform(np.ma.MaskedArray(X)), model.transform(X))
    with pytest.raises(ValueError, match="masked values"):
        model.transform(np.ma.masked_greater(X, 0.5))


def test_annotated_data_are_refused_by_fitted_models_and_functions():
    model = pf.ModularKernelPCA(2, 2, random_state=0).fit(sheet(30))
    for use in (
        model.transform,
        lambda X: pf.explain(model, X),
        lambda X: pf.select_diversity(model, X),
        pf.ModularNeighbors(model).fit,
    ):
        with pytest.raises(TypeError, match=ANNOTATED):
            use(Annotated())
