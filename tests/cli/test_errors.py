"""Errors are one sentence and exit code 2; names are printed as they are."""

import os
import re
import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("click")

SMALL = "--set n_modules=2 --set n_components=2"
ERRORS = [
    ("fit nothing.csv -o m.polyfold", "nothing.csv does not exist"),
    ("fit :iris.polyfold -o m.polyfold", "must end in .npy, .npz, .csv, .parquet, .zarr, or be a folder"),
    ("fit :y.npy -o m.polyfold", "must hold a matrix"),
    ("fit :digits.npz --array q -o m.polyfold", "select the array with the rows by --array; it has X, y"),
    ("fit :digits.npy --target wings -o m.polyfold", "--target must be a column"),
    ("fit :iris.csv --target speceis -o m.polyfold", "the nearest name is 'species'"),
    ("cluster :iris.csv -n 3 --target Species -o g.csv", "the nearest name is 'species'"),
    ("map :iris.csv --target speceis -o m.csv", "the nearest name is 'species'"),
    ("fit :iris.csv --target y.csv -o m.polyfold", "y.csv does not exist"),
    ("fit :iris.csv --columns wings -o m.polyfold", "must name columns"),
    ("fit :iris.csv --drop Species -o m.polyfold", "the nearest name is 'species'"),
    ("fit :iris.csv --prepare none -o m.polyfold", "must be numbers"),
    ("fit :digits.npy --categorical 3 -o m.polyfold", "--categorical needs columns with names"),
    ("fit :digits.npy --columns 9-0 -o m.polyfold", "from the lower to the higher number, got '9-0'"),
    ("fit :digits.npy --columns 0-999999999999 -o m.polyfold", "got '64'"),
    ("fit :digits.npy --columns 0-² -o m.polyfold", "got '0-²'"),
    ("fit :digits.npy", "Missing option"),
    ("wings", "No such command"),
    ("cluster :digits.npy -n ² -o g.npy", "-n/--clusters must be a whole number >= 1 or auto, got '²'"),
    ("cluster :digits.npy -n 0 -o g.npy", "-n/--clusters must be a whole number >= 1 or auto, got '0'"),
    ("cluster :digits.npy -n 3 --id name -o g.npy", "--id needs an output that ends in .csv or .parquet"),
    ("cluster :iris.csv -n 3 --id nam -o g.csv", "--id must name columns"),
    ("transform nothing.polyfold :digits.npy -o z.npy", "nothing.polyfold does not exist"),
    ("transform :digits.npy :digits.npy -o z.npy", "must be a file written by polyfold.save"),
    ("transform :digits.polyfold :digits.npy -o z.txt", "--output must end in"),
    ("transform :digits.polyfold :digits.npy --reconstruct -o z.npy", "must have inverse_transform"),
    ("transform :digits.polyfold :iris.csv -o z.npy", "the model was fitted to 64"),
    ("fit :iris.csv --encoding nonsense -o m.polyfold", "pass --encoding, for example utf-16 or latin-1"),
]


@pytest.mark.parametrize(("text", "match"), ERRORS, ids=[text for text, _ in ERRORS])
def test_errors_are_one_sentence_and_exit_code_2(refused, text, match):
    refused(text, match)


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "parquet", "zarr"])
def test_damaged_files_are_refused(refused, kind):
    if kind == "zarr":
        os.mkdir("bad.zarr")
    else:
        with open(f"bad.{kind}", "wb") as file:
            file.write(b"\x93NUMPY\x01\x00 nothing \xff\xfe" if kind != "csv" else b"\xff\xfe\x00\x00,\n")
    refused(f"fit bad.{kind} -o m.polyfold", "is not text" if kind == "csv" else "cannot be read as")


def test_too_many_clusters_and_columns_of_different_scales_are_reported(call, refused, rng):
    refused("cluster :digits.npy -n 500 -o g.npy", "error: -n/--clusters must be at most 120, the number of rows")
    np.save("scales.npy", rng.standard_normal((60, 6)) * [1, 1, 1, 1, 1, 1e5])
    quick = "--set network__n_clusterings=20"
    call(f"cluster scales.npy -n 2 {quick} -o g.npy")
    assert "StandardScaler" in call.notes
    call(f"cluster scales.npy -n 2 {quick} --prepare scale -o g.npy")
    assert "StandardScaler" not in call.notes


def test_closed_streams_are_not_an_error(run, shared, tmp_path, monkeypatch):
    """As in programs without a console."""
    words = ["transform", str(shared / "digits.polyfold"), str(shared / "digits.npy"), "-o", str(tmp_path / "z.npy")]
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    assert run([*words, "--json"]) == 0
    assert run([*words, "--drop", "99"]) == 2


def test_missing_requirements_are_named(capsys, monkeypatch):
    from polyfold.cli import main

    for name in ("rich", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit, match="2"):
        main()
    assert re.match(r'The command line needs rich, pandas; run: pip install ("\S+" ?)+\n$', capsys.readouterr().err)


STRANGE = ["[red]x[/red]", "[/]", ":smile:", "2019-2021"]


@pytest.fixture
def strange(call, shared):
    frame = pd.read_csv(shared / "iris.csv").iloc[:, :4].set_axis(STRANGE, axis=1)
    frame["7-9"] = frame["7"] = 1.0
    frame.to_csv("[b]odd.csv", index=False)
    call(f"fit [b]odd.csv {SMALL} -o [b]odd.polyfold")
    return "[b]odd.polyfold"


def test_names_are_printed_as_they_are(call, strange):
    text = call(f"info {strange}")
    assert strange in text
    assert [name for name in STRANGE if name not in text] == []


def test_status_lines_have_no_markup(run, monkeypatch):
    import io

    from polyfold.cli import Terminal

    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", stream)
    terminal = Terminal(as_json=False)
    with terminal.working("reading [/] of [red]x[/red]"):
        pass
    terminal.result({"output": "[/] of [red]x[/red]"})
    assert stream.getvalue().count("[/] of [red]x[/red]") >= 2


def test_whole_names_win_over_ranges(call, refused, strange):
    call(f"fit [b]odd.csv --columns 2019-2021,7-9 {SMALL} -o m.polyfold")
    assert call("info m.polyfold --json")["columns"] == ["2019-2021", "7-9"]
    call(f"fit [b]odd.csv --drop 2019-2021 {SMALL} -o m.polyfold")
    assert "2019-2021" not in call("info m.polyfold --json")["columns"]
    call(f"fit [b]odd.csv --categorical 2019-2021 {SMALL} -o m.polyfold")
    refused("fit [b]odd.csv --columns 7-8 -o n.polyfold", "--columns must name columns of [b]odd.csv, got '8'")
    refused("fit [b]odd.csv --categorical 0-3 -o n.polyfold", "--categorical must name columns")
