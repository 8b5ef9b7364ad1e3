"""Models outlive their process: saved here, loaded in another, with the same answers to the last bit."""

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest

import polyfold as pf
from tests.catalog import ENTRIES
from tests.contracts.answers import answers, assert_all, documented_warnings, fitted
from tests.contracts.samples import sheet

READER = """
import sys
import numpy as np
import polyfold as pf
from tests.catalog import ENTRIES
from tests.contracts.answers import answers
from tests.contracts.samples import sheet

folder, *names = sys.argv[1:]
for number, entry in enumerate(entry for entry in ENTRIES if entry.name in names):
    model = pf.load(f"{folder}/{number}.polyfold", trusted=["tests.catalog.user_kernel"])
    np.savez(f"{folder}/{number}.npz", **answers(model, entry.given(sheet())))
"""


def elsewhere(models, names, folder):
    """Answers of the saved models in another process, one dictionary per entry."""
    for number, model in enumerate(models):
        pf.save(model, folder / f"{number}.polyfold")
    subprocess.run([sys.executable, "-c", READER, str(folder), *names], check=True)
    return [dict(np.load(folder / f"{number}.npz")) for number in range(len(models))]


def assert_equal_bits(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype, name
        assert found[name].tobytes() == np.ascontiguousarray(value).tobytes(), name


@pytest.mark.slow
@pytest.mark.parametrize("torch", [False, pytest.param(True, marks=pytest.mark.torch)])
def test_models_answer_alike_in_another_process_and_from_pickle_and_joblib(torch, tmp_path):
    chosen = [entry for entry in ENTRIES if entry.needs_torch == torch]
    cases = {entry.name: number for number, entry in enumerate(chosen)}
    with documented_warnings():
        models = [fitted(entry, entry.given(sheet())) for entry in chosen]
        found = elsewhere(models, cases, tmp_path)

    def check(name):
        number = cases[name]
        X, model = chosen[number].given(sheet()), models[number]
        expected = answers(model, X)
        assert_equal_bits(found[number], expected)
        assert_equal_bits(answers(pickle.loads(pickle.dumps(model)), X), expected)
        joblib.dump(model, tmp_path / "model.joblib")
        assert_equal_bits(answers(joblib.load(tmp_path / "model.joblib"), X), expected)

    assert_all(cases, check)


def test_other_bits_are_seen():
    with pytest.raises(AssertionError, match="coordinates"):
        assert_equal_bits({"coordinates": np.array([-0.0])}, {"coordinates": np.array([0.0])})


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_an_unfitted_model_keeps_its_parameters(entry, tmp_path):
    pf.save(entry.new(), tmp_path / "model.polyfold")
    same = pf.load(tmp_path / "model.polyfold", trusted=["tests.catalog.user_kernel"])
    assert repr(same) == repr(entry.new())
