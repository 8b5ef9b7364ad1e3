"""Tables in several files and blocks: what is a category in one is the same category in all."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("click")

SMALL = "--set n_modules=2 --set n_components=2"
CODES = ["007", "a12", "007", "b3"]


def table(path, codes, **more):
    n = len(codes)
    x = np.random.default_rng(0).standard_normal((n, 2)).round(3)
    pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "code": codes, **more}).to_csv(path, index=False)


@pytest.fixture
def coded(call):
    """A model of rows with codes, and the coordinates of those with the code 007."""
    table("train.csv", CODES * 10)
    call(f"fit train.csv {SMALL} -o m.polyfold")
    call("transform m.polyfold train.csv -o all.npy")
    return np.load("all.npy")


def test_a_file_of_digits_keeps_its_categories(call, coded):
    pd.read_csv("train.csv", dtype=str)[::2].to_csv("digits.csv", index=False)
    call("transform m.polyfold digits.csv -o z.npy")
    assert call.notes == ""
    np.testing.assert_array_equal(np.load("z.npy"), coded[::2])


def test_blocks_of_digits_keep_their_categories(call, coded, monkeypatch):
    monkeypatch.setattr("polyfold.cli._data.BLOCK", 1)
    monkeypatch.setattr("polyfold.cli._data.FEWEST", 1)
    call("transform m.polyfold train.csv -o z.npy")
    assert call.notes == ""
    np.testing.assert_allclose(np.load("z.npy"), coded, atol=1e-12)


def test_a_streamed_table_may_have_blocks_of_digits(call, monkeypatch):
    monkeypatch.setattr("polyfold.cli._data.BLOCK", 1)
    monkeypatch.setattr("polyfold.cli._data.FEWEST", 20)
    table("train.csv", CODES * 5 + ["007"] * 20)
    call(f"fit train.csv --stream {SMALL} -o m.polyfold")
    assert call.notes == ""
    assert call("transform m.polyfold train.csv -o z.npy --json")["rows"] == 40


def test_texts_after_a_block_of_numbers_are_refused(call, refused, monkeypatch):
    monkeypatch.setattr("polyfold.cli._data.BLOCK", 1)
    monkeypatch.setattr("polyfold.cli._data.FEWEST", 20)
    table("train.csv", ["7"] * 20 + CODES * 5)
    refused(f"fit train.csv --stream {SMALL} -o m.polyfold", "'code' must hold numbers")
    call(f"fit train.csv --stream --categorical code {SMALL} -o m.polyfold")
    assert "categories that the model has not seen" in call.notes


def test_new_categories_are_counted_once(call, coded):
    table("new.csv", ["007", "z9", "z8", None])
    call("transform m.polyfold new.csv -o z.npy")
    assert call.notes.count("note:") == 1
    assert "code: 3 rows, such as 'z9'" in call.notes


def test_texts_where_numbers_were_are_refused(call, refused, coded):
    table("new.csv", ["007"] * 3, x=[1, 2, "many"])
    refused("transform m.polyfold new.csv -o z.npy", "column 'x' must hold numbers")


def test_numbers_as_categories_are_the_same_in_every_file(call):
    table("train.csv", ["1", "2", "3", "2"] * 5)
    call(f"fit train.csv --categorical code {SMALL} -o m.polyfold")
    call("transform m.polyfold train.csv -o z.npy")
    table("floats.csv", [1.0, 2.0, 3.0, 2.0] * 5)
    call("transform m.polyfold floats.csv -o floats.npy")
    assert call.notes == ""
    np.testing.assert_array_equal(np.load("floats.npy"), np.load("z.npy"))


def test_truth_values_are_the_same_however_they_are_spelled(call):
    table("train.csv", ["True", "False"] * 10)
    call(f"fit train.csv {SMALL} -o m.polyfold")
    call("transform m.polyfold train.csv -o z.npy")
    table("other.csv", ["TRUE", "false"] * 10)
    call("transform m.polyfold other.csv -o other.npy")
    assert call.notes == ""
    np.testing.assert_array_equal(np.load("other.npy"), np.load("z.npy"))


@pytest.fixture
def classified(call):
    """A classifier whose classes are texts, one of them of digits, and told by the first column."""
    classes = ["1", "x"] * 20
    table("train.csv", CODES * 10, x=[10.0, 0.0] * 20, cls=classes)
    options = ["--set", "estimator=sklearn.neighbors.NearestCentroid()", "--set", "representation__n_modules=2"]
    call("fit train.csv --target cls --model ModularClassifier -o c.polyfold", *options)
    return pd.read_csv("train.csv", dtype=str)


@pytest.mark.parametrize("one", ["1", "1.0"])
def test_classes_that_are_digits_in_a_file_are_found(call, classified, one):
    classified[::2].assign(cls=one).to_csv("ones.csv", index=False)
    assert call("evaluate c.polyfold ones.csv --target cls --json")["accuracy"] > 0.9
    classified[::2].assign(cls=one)[["cls"]].to_csv("y.csv", index=False)
    assert call("evaluate c.polyfold ones.csv --target y.csv --json")["accuracy"] > 0.9


def test_classes_that_a_model_does_not_have_are_told(call, classified):
    classified.assign(cls=["1", "y"] * 20).to_csv("new.csv", index=False)
    assert call("evaluate c.polyfold new.csv --target cls --json")["accuracy"] < 0.6
    assert "classes that the model has not seen: 20 rows, such as 'y'" in call.notes


def test_repeated_fractions_are_classes(call, shared):
    halves = np.load(shared / "y.npy") + 0.5
    np.save("y.npy", halves)
    found = call("evaluate :digits.polyfold :digits.npy --target y.npy --json")
    assert found["accuracy of 5 neighbours"] > 0.2
    np.save("y.npy", np.arange(120) / 7)
    assert "accuracy of 5 neighbours" not in call("evaluate :digits.polyfold :digits.npy --target y.npy --json")


def test_tables_and_arrays_fit_each_others_models(call, shared):
    X = np.load(shared / "digits.npy")
    pd.DataFrame(X).assign(more=1).to_csv("digits.csv", index=False)
    call("transform :digits.polyfold digits.csv --drop more -o z.npy")
    assert call.notes == ""
    call("transform :digits.polyfold :digits.npy -o plain.npy")
    np.testing.assert_array_equal(np.load("z.npy"), np.load("plain.npy"))
    call(f"fit digits.csv --drop more {SMALL} -o t.polyfold")
    call("transform t.polyfold digits.csv -o z.npy")
    call("transform t.polyfold :digits.npy -o plain.npy")
    np.testing.assert_allclose(np.load("z.npy"), np.load("plain.npy"), atol=1e-12)


def test_the_index_of_a_parquet_file_is_no_column(call):
    pytest.importorskip("pyarrow")
    table("train.csv", CODES * 5)
    pd.read_csv("train.csv", dtype={"code": str})[::-1].to_parquet("train.parquet")
    call(f"fit train.parquet {SMALL} -o m.polyfold")
    assert call("info m.polyfold --json")["columns"] == ["x", "z", "code"]
    assert call("transform m.polyfold train.csv -o z.npy --json")["rows"] == 20
    assert call.notes == ""


def test_gaps_among_targets_matter_to_those_who_learn_from_them(call, refused):
    table("train.csv", CODES * 5, cls=["a", None, "b", "a"] * 5)
    call(f"fit train.csv --target cls {SMALL} -o m.polyfold")
    refused("fit train.csv --target cls --model ModularClassifier -o c.polyfold", "got 5 missing ones")


@pytest.mark.parametrize("separator", [";", "\t"], ids=["semicolons", "tabs"])
def test_tables_may_be_separated_otherwise(call, separator):
    table("train.csv", CODES * 5)
    pd.read_csv("train.csv", dtype=str).to_csv("other.csv", sep=separator, index=False)
    call(f"fit train.csv {SMALL} -o m.polyfold")
    for name in ("train", "other"):
        call(f"transform m.polyfold {name}.csv -o {name}.npy")
    np.testing.assert_array_equal(np.load("other.npy"), np.load("train.npy"))
