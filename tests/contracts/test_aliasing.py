"""What was passed in is what counts: arrays of the caller are neither changed nor kept by reference."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.catalog import ENTRIES, ONE_EACH, entries
from tests.contracts.answers import answers, assert_all, assert_same, documented_warnings, fitted
from tests.contracts.samples import sheet

FORMS = {
    "C": np.array,
    "F": np.asfortranarray,
    "float32": lambda X: np.array(X, dtype=np.float32),
    "csr": sp.csr_matrix,
}


def forms(entry):
    """Names of the forms that the entry takes; missing entries of a sparse graph are unknown, so not for distances.

    Forms are the task of validation, which all entries of a class share: they are tried once for each class.
    """
    if entry not in ONE_EACH:
        return ["C"]
    takes_sparse = "sparse" not in entry.exempt and entry.takes != "distances"
    return [form for form in FORMS if form != "csr" or takes_sparse]


def values(X):
    """The buffers of an array or sparse matrix, to be compared bit by bit."""
    return [X.data.copy(), X.indices.copy(), X.indptr.copy()] if sp.issparse(X) else [np.array(X)]


def overwrite(X):
    """Fill the caller's buffer with something else."""
    (X.data if sp.issparse(X) else X)[...] = -17.0


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_arrays_of_the_caller_are_left_alone(entry):
    def check(form):
        X = FORMS[form](entry.given(sheet()))
        y = entry.y(X.shape[0])
        before, targets = values(X), None if y is None else y.copy()
        with documented_warnings():
            answers(fitted(entry, X, y), X)
        for old, new in zip(before, values(X), strict=True):
            np.testing.assert_array_equal(new, old)
        np.testing.assert_array_equal(y, targets)

    assert_all(forms(entry), check)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_overwriting_after_the_fit_changes_nothing(entry):
    def check(form):
        X = FORMS[form](entry.given(sheet()))
        again = X.copy()
        with documented_warnings():
            model = fitted(entry, X)
            before = answers(model, again)
            overwrite(X)
            after = answers(model, again)
        assert_same(after, before, 0)

    assert_all(forms(entry), check)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.transforms()], ids=repr)
def test_overwriting_the_output_changes_nothing(entry):
    X = entry.given(sheet())
    with documented_warnings():
        model = entry.new()
        first = model.fit_transform(X, entry.y(len(X)))
        before = answers(model, X)
        (first.data if sp.issparse(first) else first)[...] = -17.0
        for output in answers(model, X).values():
            output[...] = -17.0
        assert_same(answers(model, X), before, 1e-12)


def chunked(only=ENTRIES):
    """Entries that can be fitted in chunks."""
    return [e for e in only if hasattr(e.estimator, "partial_fit")]


def in_chunks(entry, chunks, *, reuse):
    """Fit in chunks, which are overwritten afterwards where `reuse`."""
    model = entry.new()
    for chunk in chunks:
        buffer = chunk.copy()
        model.partial_fit(buffer)
        if reuse:
            overwrite(buffer)
    return model


@pytest.mark.parametrize("entry", chunked(), ids=repr)
def test_a_reused_buffer_gives_the_model_of_separate_arrays(entry):
    def check(form):
        X = FORMS[form](sheet())
        chunks = [FORMS[form](sheet()[start : start + 12]) for start in (0, 12, 24)]
        with documented_warnings():
            found, expected = (answers(in_chunks(entry, chunks, reuse=reuse), X) for reuse in (True, False))
        assert_same(found, expected, 0)

    assert_all(forms(entry), check)


@pytest.mark.parametrize("entry", entries("chunks", only=chunked()), ids=repr)
def test_chunks_give_the_model_of_the_whole(entry):
    with documented_warnings():
        model = in_chunks(entry, [sheet()[start : start + 12] for start in (0, 12, 24)], reuse=False)
        found = answers(model, sheet())
        expected = answers(fitted(entry, sheet()), sheet())
    assert_same(found, expected, 1e-6)


class Buffered:
    """Blocks that are written into one buffer, which is overwritten in every step."""

    def __init__(self, X, rows):
        self.X, self.rows = X, rows

    def __iter__(self):
        buffer = np.empty((self.rows, self.X.shape[1]))
        for start in range(0, len(self.X), self.rows):
            buffer[:] = self.X[start : start + self.rows]
            yield buffer
        buffer[:] = -17.0


@pytest.mark.parametrize("entry", entries("blocks"), ids=repr)
def test_blocks_in_one_buffer_are_the_blocks_of_a_list(entry):
    X = entry.given(sheet())
    buffered, separate = Buffered(X, 12), np.split(X, 3)
    with documented_warnings():
        found, expected = (entry.new().fit(given, entry.y(len(X))) for given in (buffered, separate))
        assert_same(answers(found, X), answers(expected, X), 0)
        assert_same(answers(expected, buffered), answers(expected, separate), 0)
