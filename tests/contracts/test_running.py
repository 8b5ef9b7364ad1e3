"""Every fit can report its progress."""

import re

import pytest

from tests.catalog import ONE_EACH
from tests.contracts.answers import documented_warnings
from tests.contracts.samples import sheet


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_every_fit_can_be_watched(entry, capsys):
    X = entry.given(sheet())
    with documented_warnings():
        entry.new().fit(X, entry.y(len(X)))
        assert capsys.readouterr() == ("", "")
        entry.new().set_params(verbose=1).fit(X, entry.y(len(X)))
    out, err = capsys.readouterr()
    assert out == ""
    # One bar: that of the model itself, none of the models inside it.
    assert re.fullmatch(rf"polyfold: {type(entry.estimator).__name__} done in [0-9.]+ s\n", err)
