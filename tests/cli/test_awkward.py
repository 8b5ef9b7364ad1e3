"""Tables that a hostile tester wrote: nothing is lost, and nothing is read as something else, without a word."""

import os
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

pd = pytest.importorskip("pandas")

X = np.random.RandomState(0).standard_normal((40, 2)).round(3)


def planned(call, path, *options):
    """Kinds of the columns, and remarks; notes are in `call.notes`."""
    found = call(f"fit {path} --plan --json", *options)
    return {column["name"]: (column["kind"], column["remark"]) for column in found["columns"]}


@pytest.fixture
def write(tmp_path):
    def write(*columns, header="x,y,c", name="t.csv"):
        rows = zip(X[:, 0], X[:, 1], *columns, strict=True)
        text = header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
        (tmp_path / name).write_text(text, newline="")
        return name

    return write


def test_a_last_column_without_a_name_is_kept_if_any_row_has_a_value(call, tmp_path):
    lines = [f"{np.sin(i):.3f},{np.cos(i):.3f},{i if i >= 120 else ''}" for i in range(150)]
    (tmp_path / "t.csv").write_text("x,y,\n" + "\n".join(lines) + "\n")
    assert len(planned(call, "t.csv")) == 3
    assert "left out" not in call.notes


@pytest.mark.parametrize("form", ["({})", "\u2212{}", "1\u00a0000.{}", "{}?", "- {}", "\u0661{}"])
def test_numbers_in_unknown_forms_are_not_left_out_without_a_remark(call, write, form):
    path = write([form.format(value) if row else value for row, value in enumerate(np.arange(10, 50))])
    kind, remark = planned(call, path)["c"]
    assert kind == "identifier"
    assert remark == f"{form.format(11)!r} is not a number"
    call(f"cluster {path} -n 2 -o groups.csv")
    assert remark in call.notes


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_line_ends_in_ids_come_back(call, write, tmp_path, end):
    ids = [f"first{end}second {i}" for i in range(40)]
    name = write([f'"{text}"' for text in ids], header=f'x,y,"the{end}id"')
    call(f"cluster {name} -n 2 -o groups.csv --id", f"the{end}id")
    groups = pd.read_csv(tmp_path / "groups.csv")
    assert list(groups[f"the{end}id"]) == ids
    assert set(groups["cluster"]) == {0, 1}


def test_repeated_names_of_columns_are_said(call, write):
    planned(call, write(X[:, 0], X[:, 1], header="x,y,y,x"), "--drop", "y")
    assert "the names x, y occur more than once; columns are called x, y, y.1, x.1" in call.notes


def test_columns_that_vary_only_after_the_rows_that_were_looked_at_are_kept(call, tmp_path, monkeypatch):
    monkeypatch.setattr("polyfold.tables._table_data.PLAN_ROWS", (10, 20))
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(group=np.repeat([0, 1], 20), text=np.repeat(["a", "b"], 20))
    frame.assign(same=1).to_csv(tmp_path / "t.csv", index=False)
    kinds = {name: kind for name, (kind, _) in planned(call, "t.csv").items()}
    assert kinds["group"] == "number"
    assert kinds["text"] == "category"
    call("cluster t.csv -n 2 -o groups.csv")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_begin_with_many_empty_fields_are_kept(call, tmp_path, monkeypatch, kind):
    monkeypatch.setattr("polyfold.tables._table_data.PLAN_ROWS", (10, 10))
    frame = pd.DataFrame(X, columns=["x", "y"])
    frame["late"], frame["word"], frame["never"] = [*[np.nan] * 25, *range(15)], [*[None] * 35, *"ababc"], np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    kinds = {name: kind for name, (kind, _) in planned(call, f"t.{kind}").items()}
    assert kinds == {"x": "number", "y": "number", "late": "number", "word": "category", "never": "constant"}
    call(f"fit t.{kind} --stream --set n_modules=2 --set n_components=2 -o m.polyfold")
    call(f"transform m.polyfold t.{kind} -o z.npy")
    assert np.isfinite(np.load(tmp_path / "z.npy")).all()


def parquet(path, **columns):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"x": X[:, 0], "y": X[:, 1], **columns}), path)


@pytest.mark.parametrize(
    "values",
    [[[1.0, i] for i in range(40)], [{"a": i} for i in range(40)], [b"\xff%d" % i for i in range(40)]],
    ids=["lists", "records", "bytes"],
)
def test_parquet_columns_of_lists_and_bytes_are_refused(call, tmp_path, values):
    parquet(tmp_path / "t.parquet", c=values)
    assert "column 'c' must hold numbers, text or dates, got" in call("fit t.parquet --plan", code=2)
    assert set(planned(call, "t.parquet", "--drop", "c")) == {"x", "y"}


def test_parquet_files_with_one_name_for_two_columns_are_refused(call, tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_arrays([pa.array(X[:, 0]), pa.array(X[:, 1])], names=["a", "a"])
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "t.parquet")
    assert "the name 'a' occurs more than once; rename a column" in call("fit t.parquet --plan", code=2)


def test_integers_with_missing_values_are_not_rounded(call, tmp_path):
    pytest.importorskip("pyarrow")
    large = [None if i == 5 else 2**53 + 1 + 2 * i for i in range(40)]
    parquet(tmp_path / "t.parquet", id=large, c=[None if i == 3 else i % 5 for i in range(40)])
    call("cluster t.parquet -n 2 --id id -o groups.csv")
    assert pd.read_csv(tmp_path / "groups.csv", dtype=str)["id"].fillna("").tolist() == [str(i or "") for i in large]
    found = call("fit t.parquet --categorical id --plan --json")["columns"]
    assert {column["name"]: (column["kind"], column["distinct"], column["example"]) for column in found[2:]} == {
        "id": ("category", 39, str(2**53 + 1)),
        "c": ("number", 5, "0"),
    }


def test_numbers_that_parquet_stores_as_text_are_numbers(call, tmp_path):
    parquet(tmp_path / "t.parquet", c=[f"{value}%" for value in X[:, 0]], d=[f"{value}?" for value in X[:, 1]])
    kinds = planned(call, "t.parquet")
    assert kinds["c"] == ("number", f"'{X[0, 0]}%' is {X[0, 0]}")
    assert kinds["d"] == ("identifier", f"'{X[0, 1]}?' is not a number")
    call("cluster t.parquet -n 2 -o groups.csv")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_sparse_files_are_not_transposed(call, tmp_path, form):
    matrix = sp.random(20, 20, 0.4, random_state=0)
    sp.save_npz(tmp_path / "s.npz", matrix.asformat(form))
    np.save(tmp_path / "d.npy", matrix.toarray())
    call("fit d.npy -o m.polyfold --set n_modules=2 --set n_components=2")
    call("transform m.polyfold d.npy -o dense.npy")
    if form in ("csr", "csc"):
        call("transform m.polyfold s.npz -o sparse.npy")
        np.testing.assert_allclose(np.load(tmp_path / "sparse.npy"), np.load(tmp_path / "dense.npy"), atol=1e-8)
    else:
        assert "s.npz" in call("transform m.polyfold s.npz -o sparse.npy", code=2)


@pytest.mark.parametrize("columns", [2**20 + 1, 10**12])
def test_a_small_file_with_many_columns_is_refused(call, tmp_path, columns):
    matrix = sp.random(20, 4, 0.5, format="csr", random_state=0)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    np.savez(tmp_path / "s.npz", **parts, shape=np.array([20, columns]))
    error = call("cluster s.npz -n 2 -o groups.csv", code=2)
    assert f"s.npz has {columns} columns in {(tmp_path / 's.npz').stat().st_size} bytes; remove columns" in error


def test_an_empty_array_with_many_columns_is_refused(call, tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.open_array(str(tmp_path / "e.zarr"), mode="w", shape=(3, 2**24), chunks=(1, 2**20), dtype="f8")
    assert "e.zarr has 16777216 columns in" in call("cluster e.zarr -n 2 -o groups.csv", code=2)


def test_an_empty_array_with_many_rows_is_refused(call, tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.open_array(str(tmp_path / "e.zarr"), mode="w", shape=(2 * 10**9, 4), chunks=(1000, 4), dtype="f8")
    assert "e.zarr has 2000000000 rows in" in call("fit e.zarr -o m.polyfold", code=2)


def test_a_file_with_a_byte_for_every_column_is_read(tmp_path):
    from polyfold.cli._formats import Selection, open_data

    np.save(tmp_path / "wide.npy", np.zeros((1, 2**20 + 1), dtype=np.uint8))
    assert open_data(tmp_path / "wide.npy", Selection()).n_columns == 2**20 + 1


def test_a_column_number_beyond_the_sparse_matrix_is_refused_with_the_file(call, tmp_path):
    matrix = sp.random(20, 4, 0.5, format="csr", random_state=0)
    parts = {"data": matrix.data, "indices": matrix.indices + 100, "indptr": matrix.indptr}
    np.savez(tmp_path / "s.npz", **parts, shape=np.array([20, 4]))
    assert "s.npz cannot be read as a CSR or CSC matrix" in call("fit s.npz -o m.polyfold", code=2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("kind", [".csv", ".npy", ".npz", ".parquet"])
def test_pipes_and_devices_are_refused(call, tmp_path, kind):
    os.mkfifo(tmp_path / f"pipe{kind}")
    os.symlink(os.devnull, tmp_path / f"device{kind}")
    for name in ("pipe", "device"):
        refusal = f"{name}{kind} must be a file or folder, because it is read several times"
        assert refusal in call(f"cluster {name}{kind} -n 2 -o groups.csv", code=2)
        assert refusal in call(f"map :digits.npy --target {name}{kind} -o map.svg", code=2)


def test_members_of_an_archive_that_are_not_arrays_do_not_matter(call, tmp_path):
    np.savez(tmp_path / "a.npz", X=np.random.RandomState(0).standard_normal((30, 4)))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("../readme.txt", "hello")
    call("fit a.npz -o m.polyfold --set n_modules=2 --set n_components=2")
    assert not (tmp_path.parent / "readme.txt").exists()


@pytest.mark.parametrize("header", ["(" * 5000, "{'descr': '<f8', 'fortran_order': False, 'shape': (-5, 4), }"])
def test_damaged_arrays_are_refused_with_the_file(call, tmp_path, header):
    text = header.encode() + b"\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(160))
    assert "a.npy cannot be read as a file of numpy.save" in call("fit a.npy -o m.polyfold", code=2)


@pytest.mark.parametrize("kind", [".csv", ".npy", ".zarr"])
def test_names_as_long_as_names_can_be_are_written(call, tmp_path, kind):
    name = "z" * (255 - len(kind)) + kind
    call(f"transform :digits.polyfold :digits.npy -o {name}")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("color", [False, True])
def test_images_of_16_bits_are_scaled_to_bytes(tmp_path, color):
    pillow = pytest.importorskip("PIL.Image")
    from polyfold.cli._formats import read_image

    pillow.fromarray(np.array([[0, 255, 256, 40_000, 65_535]], dtype=np.uint16)).save(tmp_path / "deep.png")
    pixels = read_image(tmp_path / "deep.png", None, color)
    np.testing.assert_array_equal(pixels[..., 0] if color else pixels, [[0, 0, 1, 156, 255]])


def test_photos_are_turned_as_the_camera_noted(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    from polyfold.cli._formats import read_image

    grey = np.zeros((16, 32), dtype=np.uint8)
    grey[:, 16:] = 255
    exif = pillow.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise
    pillow.fromarray(grey).save(tmp_path / "photo.jpg", exif=exif)
    pixels = read_image(tmp_path / "photo.jpg", None, False)
    assert pixels.shape == (32, 16)
    assert pixels[:12].max() < 50
    assert pixels[20:].min() > 200


def dates(path):
    from polyfold.cli._formats import Selection, open_data

    return open_data(path, Selection()).planned(keep=True).whole().filter(like="d ")


def test_an_array_x_with_three_dimensions_is_refused(refused, tmp_path):
    np.savez(tmp_path / "x.npz", X=np.zeros((50, 8, 8)), y=np.eye(5)[np.arange(50) % 5])
    refused("fit x.npz -o m.polyfold", "x.npz must hold a matrix with rows and columns, got shape (50, 8, 8)")


@pytest.mark.parametrize("offset", ["Z", "+02:00", "-0930", "+05", ""])
@pytest.mark.parametrize("form", ["2024-01-{:02}T00:30:00{}", "2024-01-{:02} 23:45:10.5{}", "202401{:02}T0030{}"])
def test_times_with_an_offset_have_the_calendar_as_written(write, tmp_path, monkeypatch, offset, form):
    monkeypatch.chdir(tmp_path)
    times = [form.format(1 + i % 9, offset) for i in range(40)]
    frame = dates(write(times, header="x,y,d"))
    days = np.array([1 + i % 9 for i in range(40)])
    np.testing.assert_array_equal(frame["d year"], 2024)
    np.testing.assert_array_equal(frame["d month"], 1)
    np.testing.assert_array_equal(frame["d weekday"], (days - 1) % 7)
    np.testing.assert_array_equal(np.floor(frame["d days"]), 19722 + days)


def test_times_of_parquet_files_have_the_calendar_of_their_zone(tmp_path):
    pytest.importorskip("pyarrow")
    time = pd.to_datetime(["2024-01-01T00:30:00"] * 40).tz_localize("Europe/Berlin")
    parquet(tmp_path / "t.parquet", d=time)
    np.testing.assert_array_equal(dates(tmp_path / "t.parquet").iloc[0], [2024, 1, 0, 19723 + 0.5 / 24])


def test_models_of_timestamps_read_iso_dates_only(call, tmp_path):
    pytest.importorskip("pyarrow")
    parquet(tmp_path / "t.parquet", d=pd.date_range("2024-01-01", periods=40))
    call("fit t.parquet --model KernelEmbedding -o m.polyfold")
    days = pd.date_range("2024-02-01", periods=12)
    for name, day in (("iso", "%Y-%m-%d"), ("swapped", "%Y-%d-%m"), ("points", "%d.%m.%Y"), ("slashes", "%d/%m/%Y")):
        rows = "".join(f"1,2,{text}\n" for text in days.strftime(day))
        (tmp_path / f"{name}.csv").write_text("x,y,d\n" + rows)
    parquet(tmp_path / "new.parquet", x=np.ones(40), y=np.full(40, 2), d=np.resize(days, 40))
    for name in ("iso.csv", "swapped.csv", "new.parquet"):
        call(f"transform m.polyfold {name} -o {name}.npy")
    np.testing.assert_array_equal(np.load("iso.csv.npy"), np.load("new.parquet.npy")[:12])
    assert not np.array_equal(np.load("iso.csv.npy"), np.load("swapped.csv.npy"))
    for name, got in (("points", "01.02.2024"), ("slashes", "01/02/2024")):
        error = call(f"transform m.polyfold {name}.csv -o z.npy", code=2)
        assert f"column 'd' must hold dates such as '2024-01-01', got '{got}'; write them in the same format" in error


def test_models_of_written_dates_read_timestamps(call, write, tmp_path):
    pytest.importorskip("pyarrow")
    days = pd.date_range("2024-01-20", periods=40)
    name = write(days.strftime("%d.%m.%Y"), header="x,y,d")
    call(f"fit {name} --model KernelEmbedding -o m.polyfold")
    parquet(tmp_path / "t.parquet", d=days)
    for file in (name, "t.parquet"):
        call(f"transform m.polyfold {file} -o {file}.npy")
    np.testing.assert_array_equal(np.load(f"{name}.npy"), np.load("t.parquet.npy"))


def test_whole_numbers_beyond_64_bits_are_numbers_next_to_thousands(call, write):
    large = [10**20 + i * 10**18 for i in range(40)]
    name = write(large, [f'"{1000 + i:,}.5"' for i in range(40)], header="x,y,large,thousands")
    assert planned(call, name)["large"] == ("number", "'100000000000000000000' is 1e+20")
    call(f"cluster {name} -n 2 -o groups.csv")


BOOLEANS, DAYS = np.arange(40) % 2 == 0, pd.date_range("2024-01-01", periods=40)


@pytest.mark.parametrize("values", [BOOLEANS, DAYS, X[:, 0]], ids=["booleans", "timestamps", "floats"])
@pytest.mark.parametrize("form", ["{:.3f}", "{:.3f}%", '"{:,.1f}"', '"{:.0f},5"'])
def test_models_of_numbers_refuse_values_of_other_types(call, write, tmp_path, form, values):
    pytest.importorskip("pyarrow")
    name = write([form.format(1500 + 37.5 * i) for i in range(40)])
    call(f"fit {name} --model KernelEmbedding -o m.polyfold")
    parquet(tmp_path / "t.parquet", c=values)
    is_number = values is not BOOLEANS and values is not DAYS and "%" not in form
    error = call("transform m.polyfold t.parquet -o z.npy", code=0 if is_number else 2)
    assert is_number or f"got '{values[0]}'; write them in the format" in error
    if values is BOOLEANS:
        error = call(f"transform m.polyfold {write(values)} -o z.npy", code=2)
        assert "got 'True'; write them in the format" in error


def test_decimals_of_parquet_files_are_numbers_for_models_of_decimal_commas(call, write, tmp_path):
    pytest.importorskip("pyarrow")
    import decimal

    name = write([f'"{1 + i}.234,5"' for i in range(40)])
    call(f"fit {name} --model KernelEmbedding -o m.polyfold")
    for file, kind in (("floats", float), ("decimals", decimal.Decimal)):
        parquet(tmp_path / f"{file}.parquet", c=[kind("1.234"), kind("2.5")] * 20)
        call(f"transform m.polyfold {file}.parquet -o {file}.npy")
    np.testing.assert_array_equal(np.load("floats.npy"), np.load("decimals.npy"))


def test_columns_in_the_names_of_parquet_folders_are_read(call, tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(year=np.arange(40) % 3 + 2020, site=np.repeat(["n", "s"], 20))
    frame.to_parquet(tmp_path / "hive", partition_cols=["year", "site"])
    kinds = planned(call, "hive")
    assert {name: kind for name, (kind, _) in kinds.items()} == {
        **dict.fromkeys(["x", "y", "year"], "number"),
        "site": "category",
    }
    call("cluster hive -n 2 --id site -o groups.csv")
    call("cluster hive -n 2 --columns x,y,year -o groups.csv")
    part = next((tmp_path / "hive/year=2020/site=n").iterdir())
    assert len(planned(call, part.parent)) == len(planned(call, part)) == 2


def test_numbered_parquet_files_are_read_in_the_order_of_their_numbers(call, tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=["x", "y"])
    frame.to_csv(tmp_path / "whole.csv", index=False)
    (tmp_path / "parts").mkdir()
    for number, start in enumerate(range(0, 40, 3)):  # as Dask names them
        frame[start : start + 3].to_parquet(tmp_path / f"parts/part.{number}.parquet", index=False)
    call("fit whole.csv --model KernelEmbedding -o m.polyfold")
    for rows in ("whole.csv", "parts"):
        call(f"transform m.polyfold {rows} -o {rows}.npy")
    np.testing.assert_allclose(np.load("whole.csv.npy"), np.load("parts.npy"), atol=1e-12)


def test_a_named_index_of_a_parquet_file_is_a_column(call, tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(c=[f"n{i}" for i in range(40)])
    frame.set_index("c").to_parquet(tmp_path / "t.parquet")
    assert planned(call, "t.parquet")["c"][0] == "identifier"
    call("cluster t.parquet -n 2 --id c -o groups.csv")
    assert list(pd.read_csv(tmp_path / "groups.csv")["c"]) == list(frame["c"])
    frame = frame.sample(frac=1, random_state=0)
    frame.to_parquet(tmp_path / "t.parquet")
    assert "c" in planned(call, "t.parquet")
    assert "column 4 is left out: an index without a name" in call.notes
    call("cluster t.parquet -n 2 -o groups.csv")
    assert list(pd.read_csv(tmp_path / "groups.csv")["index"]) == list(frame.index)


def test_columns_without_values_in_new_files_are_reported(call, write, tmp_path):
    path = write(X[:, 0], header="x,y,late")
    call(f"fit {path} --set n_modules=2 --set n_components=2 -o m.polyfold")
    call("transform m.polyfold t.csv -o z.npy")
    assert call.notes == ""
    call(f"transform m.polyfold {write([''] * 40, header='x,y,late')} -o z.npy")
    assert "t.csv: no values in late; the medians" in call.notes


@pytest.mark.parametrize(("lines", "text"), [("\n", "1 empty line is"), ("\n\n", "2 empty lines are")])
def test_empty_lines_of_one_column_are_reported(call, tmp_path, lines, text):
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{value}\n" for value in X[:, 0]) + f"{lines}1.5\n\n")
    planned(call, "t.csv")
    assert f"t.csv: {text} skipped; write NA for missing values" in call.notes


@pytest.mark.parametrize("separator", [";", ",", "\t", "~"])
def test_the_separator_that_spreadsheets_write_is_used(call, tmp_path, separator):
    lines = ["sep=" + separator, separator.join("xy"), *(f"{a}{separator}{b}" for a, b in X)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert list(planned(call, "t.csv")) == ["x", "y"]
    call("cluster t.csv -n 2 -o groups.csv")
    (tmp_path / "t.csv").write_text("\n".join([*lines, "1"]) + "\n")
    assert "t.csv, line 43: got 1 fields, expected 2" in call("fit t.csv --plan", code=2)


def test_months_without_a_day_are_shown(call, write):
    path = write([f"20{9 + i % 3:02}-{10 + i % 3}" for i in range(40)], header="x,y,season")
    assert planned(call, path)["season"] == ("date", "'2009-10' is 2009-10-01")


@pytest.mark.parametrize("title", ["# measured in May", "Report"])
def test_a_title_above_the_table_is_reported(call, write, title):
    planned(call, write(X[:, 0], header=f"{title}\nx,y,c"), "--categorical", title)
    assert f"one column, as its first line {title!r}, although the lines below it have 3 fields" in call.notes
    planned(call, write(X[:, 0]))
    assert call.notes == ""


def test_one_column_of_decimal_commas_is_not_reported(call, tmp_path):
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{value:.3f}\n".replace(".", ",") for value in X[:, 0]))
    assert planned(call, "t.csv")["x"][0] == "number"
    assert call.notes == ""


def test_hidden_files_are_no_rows(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    pytest.importorskip("pyarrow")
    from polyfold.cli._formats import Selection, open_data

    for folder in ("images", "images/.thumbs", "table", "table/_temporary", "table/.old"):
        (tmp_path / folder).mkdir()
    for name in ("_a.png", "b.png", ".c.png", ".thumbs/a.png"):
        pillow.fromarray(np.zeros((8, 8), dtype=np.uint8)).save(tmp_path / "images" / name)
    for name in ("part.0.parquet", "_part.1.parquet", "_temporary/part.2.parquet", ".old/part.3.parquet"):
        parquet(tmp_path / "table" / name, d=np.arange(40.0))
    assert open_data(tmp_path / "images", Selection()).n_rows == 2
    assert open_data(tmp_path / "table", Selection()).n_rows == 40


def test_postscript_is_no_image(call, tmp_path):
    pytest.importorskip("PIL")
    (tmp_path / "f").mkdir()
    text = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
    (tmp_path / "f" / "a.png").write_text(text)
    error = call("cluster f --size 8x8 -n 2 -o groups.csv", code=2)
    assert "cannot be read as an image: cannot identify image file" in error


def test_names_of_folders_keep_their_zeros(tmp_path):
    pytest.importorskip("pyarrow")
    from polyfold.cli._formats import Selection, open_data

    for code in ("01234", "1234"):
        (tmp_path / "t" / f"zip={code}").mkdir(parents=True)
        parquet(tmp_path / "t" / f"zip={code}" / "p.parquet")
    assert set(open_data(tmp_path / "t", Selection()).column("zip")) == {"01234", "1234"}


def test_long_fields_of_digits_are_read_in_linear_time(tmp_path):
    from polyfold.cli._formats import Selection, open_data

    (tmp_path / "r.csv").write_text("a,b\n1,2\n2,3\n" + "1" * 400_000 + "x,5\n3,4\n")
    assert open_data(tmp_path / "r.csv", Selection()).n_rows == 4
