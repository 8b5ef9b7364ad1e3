"""Labels that differ are different classes, whatever they are; those that are missing are one."""

import datetime
import json

import numpy as np
import pytest

from polyfold.report import RepresentationDisplay, explore
from polyfold.report._columns import encode, encode_with_dates, named_columns, unique_names
from tests.report.test_explore import Page

LONG = 79 * "a"


def named(values):
    """Return the class of every value by name."""
    coded = encode("y", values)
    assert coded["kind"] == "class"
    assert len(set(coded["classes"])) == len(coded["classes"])
    assert set(coded["values"]) == set(range(len(coded["classes"])))
    json.dumps(coded, allow_nan=False)
    return [coded["classes"][code] for code in coded["values"]]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([0.0, 1.0, np.inf, -np.inf, 1.0], ["0", "1", "inf", "-inf", "1"]),
        ([10**400, 1], ["1" + 78 * "0" + "…", "1"]),
        ([np.float32("inf"), 1], ["inf", "1"]),
        ([1e300, 1e301, 2e300], ["1e+300", "1e+301", "2e+300"]),
        (np.array([2**63, 2**64 - 1, 5], dtype=np.uint64), ["9223372036854775808", "18446744073709551615", "5"]),
        ([2**63 + 1, -1, 2**53, 2**53 + 1], ["9223372036854775809", "-1", "9007199254740992", "9007199254740993"]),
        (np.array([0.0, np.nan, 1.0, np.nan]), ["0", "missing", "1", "missing"]),
        (["a", None, np.nan, float("nan")], ["a", "missing", "missing", "missing"]),
        (["missing", None], ["“missing”", "missing"]),
        ([1, "1", "a"], ["1", "“1”", "a"]),
        ([1, 1.0, True], ["1", "1", "1"]),
        ([True, False], ["True", "False"]),
        ([[1], [2, 3], [1]], ["[1]", "[2, 3]", "[1]"]),
        (np.array(["2020-01-01", "NaT", "2021-01-01"], "M8[ns]"), ["2020", "missing", "2021"]),
        ([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], ["2020-01-01", "2021-01-01"]),
    ],
    ids=repr,
)
def test_every_label_is_a_class(values, names):
    found = [name[:4] if names[0] == "2020" and name != "missing" else name for name in named(values)]
    assert found == names


def test_texts_that_differ_at_their_end_have_names_that_differ():
    one, two, three, short = named([LONG + "bb", LONG + "bc", LONG + "bd", LONG + "b"])
    assert (one, two, three, short) == (LONG + "…", LONG + "… (2)", LONG + "… (3)", LONG + "b")


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "string", "Float64", "category"])
def test_nothing_of_pandas_is_one_class(dtype):
    pandas = pytest.importorskip("pandas")
    values = {"boolean": [True, False], "string": ["x", "y"], "category": ["x", "y"]}.get(dtype, [1, 2])
    assert named(pandas.Series([*values, None, values[0]], dtype=dtype))[2:] == ["missing", str(values[0])]


def test_many_numbers_stay_numbers_where_some_are_missing_or_infinite():
    pandas = pytest.importorskip("pandas")
    whole = pandas.Series([*range(60), None], dtype="Int64")
    assert encode("y", whole) == {"name": "y", "kind": "number", "values": [*map(float, range(60)), None]}
    assert encode("y", np.array([0.5, np.inf, -np.inf, np.nan]))["values"] == [0.5, "∞", "−∞", None]


def test_classes_are_in_order_and_what_is_missing_comes_last():
    assert encode("y", [None, "b", 10, "a", 9])["classes"] == ["9", "10", "a", "b", "missing"]


def test_many_dates_of_a_report_are_days_since_1970():
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("1969-12-31", periods=60)
    expected = {"name": "t", "kind": "number", "date": True, "values": [*map(float, range(-1, 59))]}
    for values in (days, days.tz_localize("Asia/Tokyo"), days.date, days.to_numpy().astype("M8[s]")):
        assert encode_with_dates("t", pandas.Series(values)) == expected
    times = [*(days + pandas.Timedelta(hours=6)), None]
    assert encode_with_dates("t", pandas.Series(times))["values"][-2:] == [58.25, None]
    assert encode_with_dates("t", days[:5])["kind"] == "class"
    assert encode_with_dates("t", [*days, "later"])["kind"] == "text"


def test_names_that_come_again_are_numbered():
    assert unique_names(["a", "b", "a", "a (2)", "a"]) == ["a", "b", "a (2)", "a (2) (2)", "a (3)"]
    assert len(set(unique_names(["a"] * 5000))) == 5000


def test_columns_with_one_name_as_text_are_all_there(tmp_path):
    pandas = pytest.importorskip("pandas")
    Z = np.random.RandomState(0).standard_normal((20, 2))
    frame = pandas.DataFrame(np.arange(80).reshape(20, 4) + 0.5, columns=[1, "1", "label", 1])
    assert [name for name, _ in named_columns(None, frame, 20)] == [1, "1", "label", 1]
    path = explore(Z, Z, y=["x", "y"] * 10, columns=frame, views={1: Z, "1": -Z}, path=tmp_path / "p.html")
    (one,) = Page(path).chapters
    assert [column["name"] for column in one["columns"]] == ["label", "1", "1 (2)", "label (2)", "1 (3)"]
    assert [column["values"][1] for column in one["columns"]] == [1, 4.5, 5.5, 6.5, 7.5]
    assert [name for name, _ in one["steps"][0]["neighbors"]] == ["coordinates 0 and 1", "1", "1 (2)"]


def test_a_column_that_is_the_label_is_shown_once(tmp_path):
    pandas = pytest.importorskip("pandas")
    Z = np.random.RandomState(0).standard_normal((20, 2))
    frame = pandas.DataFrame({"a": Z[:, 0], "kind": ["x", "y"] * 10})
    (one,) = Page(explore(Z, Z, y=frame["kind"], columns=frame, path=tmp_path / "p.html")).chapters
    assert [column["name"] for column in one["columns"]] == ["kind", "a"]


def test_displays_draw_every_class(rng):
    Z = rng.standard_normal((6, 2))
    display = RepresentationDisplay.from_representation(Z, y=[1, "1", None, np.inf, 1, np.nan])
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["1", "inf", "“1”", "missing"]
    densities = RepresentationDisplay.from_representation(Z[:, :1], y=[1, "1", None, 2, 1, np.nan])
    assert [line.get_label() for line in densities.ax_.get_lines()] == ["1", "2", "“1”", "missing"]


def test_points_without_a_number_are_drawn(rng):
    display = RepresentationDisplay.from_representation(rng.standard_normal((4, 2)), y=[0.5, np.nan, np.inf, 1.5])
    display.figure_.canvas.draw()
    first, missing, infinite, last = (tuple(color) for color in display.ax_.collections[0].get_facecolors())
    assert missing == infinite
    assert len({first, missing, last}) == 3
    assert missing[3] > 0
