"""Names of files, columns and classes: any of them, printed as they are."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("click")

SMALL = "--set n_modules=2 --set n_components=2"
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


def test_status_lines_are_no_markup(monkeypatch):
    import io

    from polyfold.cli._terminal import Terminal

    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", stream)
    terminal = Terminal(as_json=False)
    with terminal.working("reading [/] of [red]x[/red]"):
        pass
    terminal.result({"output": "[/] of [red]x[/red]"})
    assert stream.getvalue().count("[/] of [red]x[/red]") >= 2


def test_exact_names_win_over_ranges(call, refused, strange):
    call(f"fit [b]odd.csv --columns 2019-2021,7-9 {SMALL} -o m.polyfold")
    assert call("info m.polyfold --json")["columns"] == ["2019-2021", "7-9"]
    call(f"fit [b]odd.csv --drop 2019-2021 {SMALL} -o m.polyfold")
    assert "2019-2021" not in call("info m.polyfold --json")["columns"]
    call(f"fit [b]odd.csv --categorical 2019-2021 {SMALL} -o m.polyfold")
    refused("fit [b]odd.csv --columns 7-8 -o n.polyfold", "--columns must name columns of [b]odd.csv, got '8'")
    refused("fit [b]odd.csv --categorical 0-3 -o n.polyfold", "--categorical must name columns")


def test_ranges_run_upwards_and_within_the_columns(refused):
    refused("fit :digits.npy --columns 9-0 -o m.polyfold", "from the lower to the higher number, got '9-0'")
    refused("fit :digits.npy --drop 9-0 -o m.polyfold", "--drop must have ranges")
    refused("fit :digits.npy --columns 0-999999999999 -o m.polyfold", "got '64'")


@pytest.mark.parametrize(
    "text",
    [
        "fit :digits.npy -o nofolder/m.polyfold",
        "cluster :digits.npy -o nofolder/g.npy",
        "cluster :digits.npy -o g.npy --save nofolder/c.polyfold",
        "map :digits.npy -o nofolder/m.npy",
        "map :digits.npy -o m.npy --save nofolder/m.polyfold",
        "transform :digits.polyfold :digits.npy -o nofolder/z.npy",
        "transform :digits.polyfold :digits.npy --reconstruct -o nofolder/pictures",
        "search :digits.polyfold :digits.npy -o nofolder/f.npy",
        "report :digits.polyfold :digits.npy -o nofolder/r.html",
        "demo -o nofolder/demo",
    ],
)
def test_places_are_checked_before_the_work(refused, monkeypatch, text):
    def work(*_, **__):
        raise AssertionError("it has begun to work")

    for place in ("polyfold.cli._data.open_source", "polyfold.load", "polyfold.demo.run_demo"):
        monkeypatch.setattr(place, work)
    refused(text, "nofolder")


def test_models_do_not_go_to_files_of_data(refused):
    refused("cluster :digits.npy -o g.npy --save c.npy", "--save must not name a file of data")
    refused("fit :digits.npy -o .", "--output must be a file")


def test_classes_of_any_name_and_numbers_can_be_drawn(tmp_path, rng):
    pytest.importorskip("matplotlib")
    from polyfold.cli._writers import draw

    Z = rng.standard_normal((60, 2))
    for number, y in enumerate((None, np.array(["$x", "a$b_$", "[/]"] * 20), np.arange(60) / 7, np.arange(60) % 20)):
        draw(tmp_path / f"{number}.png", Z, y)
    assert len(list(tmp_path.iterdir())) == 4
