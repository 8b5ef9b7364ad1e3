"""What every long estimator says about threads and progress."""

import inspect
import re

import pytest

from tests.catalog import ALL_KERNELS, ENTRIES
from tests.contracts.answers import documented_warnings
from tests.contracts.samples import sheet

# One of every class: threads and progress are a matter of the border.
ONE_EACH = list({type(entry.estimator): entry for entry in reversed(ENTRIES)}.values())
WITH_JOBS = {type(thing) for thing in [*(entry.estimator for entry in ENTRIES), *ALL_KERNELS.values()]}
WITH_JOBS = sorted((kind for kind in WITH_JOBS if "n_jobs" in inspect.signature(kind).parameters), key=str)
THREADS = (
    "n_jobs : int or None, default=None Threads: -1 for all cores, -2 for all but one. None is every core that the "
    "process may use, or one inside a worker of joblib or Dask. The result does not depend on it."
)


@pytest.mark.parametrize("kind", WITH_JOBS, ids=lambda kind: kind.__name__)
def test_threads_are_documented_in_the_same_words(kind):
    text = " ".join(inspect.getdoc(kind).split())
    assert THREADS in text or re.search("are those of :class:`(PartitionKernelPCA|TangentAlignment)`", text)


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_every_fit_can_be_watched(entry, capsys):
    X = entry.given(sheet())
    with documented_warnings():
        entry.new().fit(X, entry.y(len(X)))
        assert capsys.readouterr() == ("", "")
        entry.new().set_params(verbose=1).fit(X, entry.y(len(X)))
    out, err = capsys.readouterr()
    assert out == ""
    # One bar: that of the model which was asked, and of no model within.
    assert re.fullmatch(rf"polyfold: {type(entry.estimator).__name__} done in [0-9.]+ s\n", err)
