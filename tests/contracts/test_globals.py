"""A fit leaves the process as it found it: generators, threads, error states, filters, handlers."""

import logging
import sys
import threading
import warnings
from contextlib import suppress

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tests.catalog import ENTRIES, ONE_EACH
from tests.contracts.answers import answers, documented_warnings
from tests.contracts.interruption import at_call, calls_of, interrupt
from tests.contracts.samples import sheet


def snapshot():
    """Return all global state that numerical code is tempted to change."""
    _, numbers, *place = np.random.get_state()  # noqa: NPY002 - the global generator is what is looked at
    state = {
        "numpy generator": (numbers.tobytes(), *place),
        "threads": {lib["filepath"]: lib["num_threads"] for lib in threadpool_info()},
        "error state": tuple(sorted(np.geterr().items())),
        "print options": str(np.get_printoptions()),
        "warning filters": tuple(map(str, warnings.filters)),
        "logging": [
            (name, len(logging.getLogger(name).handlers), logging.getLogger(name).level) for name in (None, "polyfold")
        ],
    }
    if torch := sys.modules.get("torch"):
        state["torch generator"] = torch.get_rng_state().numpy().tobytes()
        state["torch"] = (torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype())
    return state


def assert_unchanged(before):
    """Assert that the state is what it was."""
    after = snapshot()
    # Libraries that were loaded in between had no number before.
    after["threads"] = {path: after["threads"][path] for path in before["threads"]}
    changed = [name for name in before if before[name] != after[name]]
    assert not changed, f"changed: {', '.join(changed)}"


@pytest.fixture(autouse=True)
def two_threads():
    """Give BLAS two threads, without holding on to them: other threads could not set their number then."""
    limits = threadpool_limits(2, user_api="blas")
    threadpool_limits(None).__exit__(None, None, None)
    yield
    limits.restore_original_limits()


def warmed_up(entry):
    """Return rows and targets after a first fit: imports and compilation are not what a fit leaves behind."""
    X = entry.given(sheet())
    y = entry.y(len(X))
    answers(single_threaded(entry).fit(X, y), X)
    return X, y


def single_threaded(entry):
    """Return an estimator that asks for one thread where it has a say."""
    model = entry.new()
    return model.set_params(n_jobs=1) if "n_jobs" in model.get_params() else model


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_fit_and_answers_leave_the_process_as_it_was(entry):
    with documented_warnings(), np.errstate(under="call", call=print):
        X, y = warmed_up(entry)
        before = snapshot()
        answers(single_threaded(entry).fit(X, y), X)
        assert_unchanged(before)


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_an_interrupted_fit_leaves_the_process_as_it_was(entry):
    with documented_warnings():
        X, y = warmed_up(entry)
        total = calls_of(lambda: single_threaded(entry).fit(X, y))
        before = snapshot()
        for share in (0.3, 0.6, 0.9):
            with suppress(KeyboardInterrupt), at_call(max(1, round(share * total)), interrupt):
                single_threaded(entry).fit(X, y)
        assert_unchanged(before)


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_overlapping_fits_leave_the_process_as_it_was(entry):
    """The second fit begins within the first and ends after it: restoring what one found is not enough then."""
    with documented_warnings():
        X, y = warmed_up(entry)
        total = calls_of(lambda: single_threaded(entry).fit(X, y))
        before = snapshot()
        overlap(lambda: single_threaded(entry).fit(X, y), max(1, round(0.7 * total)))
        assert_unchanged(before)


def overlap(run, number):
    """Run twice in threads: the first waits at its call `number` for the second to come there, then ends first."""
    inside, done, errors = threading.Event(), threading.Event(), []

    def wait_for_the_second():
        second.start()
        inside.wait(3)  # a lock of the library may keep the second out, which is fine

    def wait_for_the_first():
        inside.set()
        done.wait(60)

    def go(at_the_call):
        try:
            with at_call(number, at_the_call):
                run()
        except BaseException as error:
            errors.append(error)
        finally:
            inside.set()

    second = threading.Thread(target=go, args=(wait_for_the_first,))
    first = threading.Thread(target=go, args=(wait_for_the_second,))
    first.start()
    first.join(120)
    done.set()
    if second.ident is not None:
        second.join(120)
    assert not errors, errors
