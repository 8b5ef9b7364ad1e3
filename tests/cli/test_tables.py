"""Tables: the same category in every file and block, numbers in any form, headers, indexes, separators, labels."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("click")

SMALL = "--set n_modules=2 --set n_components=2"
CODES = ["007", "a12", "007", "b3"]
CENTROID = '[parameters.estimator]\nclass = "sklearn.neighbors.NearestCentroid"\n'


def table(path, codes, **more):
    n = len(codes)
    x = np.random.default_rng(0).standard_normal((n, 2)).round(3)
    pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "code": codes, **more}).to_csv(path, index=False)


def write(text, path="t.csv", encoding="utf-8"):
    with open(path, "w", encoding=encoding, newline="") as file:
        file.write(text)


def read(path="t.csv", **options):
    """Return what the command line reads from a file, and the notes it prints about it."""
    import warnings

    from polyfold.cli._formats import Selection, open_data
    from polyfold.cli._inputs import select_features

    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        selection = Selection(**options)
        data = select_features(open_data(path, selection), selection).planned(keep=True)
        frame = data.whole()
    remarks = [f"{column.kind} {column.name} ({column.remark})" for column in data.plan.columns if column.remark]
    return frame, " ".join([*(str(note.message) for note in notes), *remarks])


@pytest.fixture
def coded(call):
    """A model of rows with codes, and the coordinates of the rows."""
    table("train.csv", CODES * 10)
    call(f"fit train.csv {SMALL} -o m.polyfold")
    call("transform m.polyfold train.csv -o all.npy")
    return np.load("all.npy")


@pytest.fixture
def small_blocks(monkeypatch):
    def set_rows(rows):
        monkeypatch.setattr("polyfold.cli._formats.BLOCK_BYTES", 1)
        monkeypatch.setattr("polyfold.cli._formats.MIN_ROWS", rows)

    return set_rows


def test_a_file_of_digits_keeps_its_categories(call, coded):
    pd.read_csv("train.csv", dtype=str)[::2].to_csv("digits.csv", index=False)
    call("transform m.polyfold digits.csv -o z.npy")
    assert call.notes == ""
    np.testing.assert_array_equal(np.load("z.npy"), coded[::2])


def test_blocks_of_digits_keep_their_categories(call, coded, small_blocks):
    small_blocks(1)
    call("transform m.polyfold train.csv -o z.npy")
    assert call.notes == ""
    np.testing.assert_allclose(np.load("z.npy"), coded, atol=1e-12)


@pytest.mark.parametrize(
    "codes", [CODES * 5 + ["007"] * 20, ["7"] * 20 + CODES * 5], ids=["text first", "digits first"]
)
def test_the_whole_file_decides_what_is_a_category(call, small_blocks, codes):
    small_blocks(20)
    table("train.csv", codes)
    call(f"fit train.csv --stream {SMALL} -o m.polyfold")
    assert call("transform m.polyfold train.csv -o z.npy --json")["rows"] == 40


def test_new_categories_are_counted_once(call, coded):
    table("new.csv", ["007", "z9", "z8", None])
    call("transform m.polyfold new.csv -o z.npy")
    assert call.notes.count("note:") == 1
    assert "code: 3 rows, such as 'z9'" in call.notes


def test_text_in_a_column_of_numbers_is_refused(refused, coded):
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


def test_booleans_are_the_same_in_every_spelling(call):
    table("train.csv", ["True", "False"] * 10)
    call(f"fit train.csv {SMALL} -o m.polyfold")
    call("transform m.polyfold train.csv -o z.npy")
    table("other.csv", ["TRUE", "false"] * 10)
    call("transform m.polyfold other.csv -o other.npy")
    assert call.notes == ""
    np.testing.assert_array_equal(np.load("other.npy"), np.load("z.npy"))


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


def test_the_index_of_a_parquet_file_is_not_a_column(call):
    pytest.importorskip("pyarrow")
    table("train.csv", CODES * 5)
    pd.read_csv("train.csv", dtype={"code": str})[::-1].to_parquet("train.parquet")
    call(f"fit train.parquet {SMALL} -o m.polyfold")
    assert call("info m.polyfold --json")["columns"] == ["x", "z", "code"]
    assert call("transform m.polyfold train.csv -o z.npy --json")["rows"] == 20
    assert call.notes == ""


def test_decimals_and_dates_of_parquet_files_are_numbers(call):
    pytest.importorskip("pyarrow")
    import decimal

    day = pd.to_datetime("2024-01-03")
    pd.DataFrame({"a": [decimal.Decimal("1.5"), None], "b": [day, day], "c": [1, 2]}).to_parquet("t.parquet")
    frame, notes = read("t.parquet")
    np.testing.assert_array_equal(frame["a"], [1.5, np.nan])
    assert list(frame.columns) == ["a", "b year", "b month", "b weekday", "b days", "c"]
    assert list(frame.iloc[0, 1:5]) == [2024, 1, 2, 19725]
    assert notes == ""


# Fields and line numbers


@pytest.mark.parametrize(
    ("text", "line", "fields"),
    [
        ("a,b,y\n1,2,u,\n3,4,v,\n", 2, 4),
        ("a,b,y\n1,2,u\n3,4,v,5\n", 3, 4),
        ('a,b,y\n1,2,"u\nv"\n3,4,v,5\n', 4, 4),
        ("a,b,y\n1,2,u\n\n3,4\n", 4, 2),
    ],
)
def test_lines_with_other_numbers_of_fields_are_refused(refused, text, line, fields):
    write(text)
    refused("fit t.csv --drop y -o m.polyfold", f"t.csv, line {line}: got {fields} fields, expected 3")


def test_open_quotes_blank_lines_and_nul_characters_are_refused(refused):
    write('a,b\n1,2\n1,"x\n2,3\n4,5\n')
    refused("fit t.csv -o m.polyfold", "t.csv, line 3: quotes are not closed properly")
    write("a\n1\n  \n2\n")
    refused("fit t.csv -o m.polyfold", "t.csv has 1 lines with spaces only")
    write("a,b\n1,2\n3,4\n", encoding="utf-16-le")
    refused("fit t.csv -o m.polyfold", "pass --encoding, for example utf-16 or latin-1")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"a, kg";"b, cm";c\n1;2;3\n4;5;6\n', ["a, kg", "b, cm", "c"]),
        ('"a; kg","b; cm; m",c\n1,2,3\n4,5,6\n', ["a; kg", "b; cm; m", "c"]),
        ("a\tb, c\n1\t2\n3\t4\n", ["a", "b, c"]),
        ("a|b\n1|2\n3|4\n", ["a", "b"]),
        ("a\n1\n2\n", ["a"]),
        ('a, b\n1, 2\n3, "4"\n', ["a", "b"]),
    ],
)
def test_separators_are_found_and_quotes_respected(call, text, names):
    write(text)
    frame, notes = read()
    assert list(frame.columns) == names
    assert notes == ""
    assert all(frame.dtypes == np.float64)


# Numbers


@pytest.mark.parametrize(
    ("text", "expected", "note"),
    [
        ("a;b\n1,5;1\n-2,25;2\n3;3\n", [1.5, -2.25, 3], "a ('1,5' is 1.5)"),
        ("a;b\n1.234,5;1\n20,25;2\n", [1234.5, 20.25], "a ('1.234,5' is 1234.5)"),
        ("a;b\n1,234;1\n2,500;2\n", [1.234, 2.5], "a ('1,234' is 1.234)"),
        ('a,b\n"1,234",1\n"12,345.5",2\n7,3\n', [1234, 12345.5, 7], "a ('1,234' is 1234)"),
        ("a,b\n12.3%,1\n5 %,2\n,3\n", [12.3, 5, np.nan], "a ('12.3%' is 12.3)"),
        ("a,b\n$5.10,1\n-$3,2\n", [5.1, -3], "a ('$5.10' is 5.1)"),
        ('a,b\n"$1,250.00",1\n$3.50,2\n', [1250, 3.5], "a ('$1,250.00' is 1250)"),
        ("a;b\n1,5 €;1\n2 €;2\n", [1.5, 2], "a ('1,5 €' is 1.5)"),
        ("a,b\n12345678901234567890123,1\n5,2\n", [1.2345678901234568e22, 5], "a ('12345678901234567890123' is"),
        ("a,b\n\u00a02,1\n3.5\u00a0,2\n", [2, 3.5], r"a ('\xa02' is 2)"),
        ("a,b\n$\u00a02,1\n-$3.5,2\n", [2, -3.5], r"a ('$\xa02' is 2)"),
        ("a,b\n1e3,1\n.5,2\nNA,3\n", [1000, 0.5, np.nan], None),
    ],
)
def test_numbers_of_one_form_are_read_and_reported(call, text, expected, note):
    write(text)
    frame, notes = read()
    np.testing.assert_allclose(frame["a"], expected)
    np.testing.assert_array_equal(frame["b"], np.arange(1, len(expected) + 1))
    assert notes == "" if note is None else f"number {note}" in notes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x;y\n0,5;1.075\n0,25;921\n", [1075, 921]),
        ("x;y\n0,5;1,5%\n0,25;2%\n", [1.5, 2]),
        ("x,y\n0.5,1.075\n0.25,921\n", [1.075, 921]),
        ('x,y\n0.5,"1,075"\n0.25,921\n', [1075, 921]),
        ("x;y\n0,5;1.5\n0,25;a\n", ["1.5", "a"]),
        ("x;y\n0,5;007\n0,25;7\n", ["007", "7"]),
    ],
)
def test_targets_have_the_number_format_of_the_file(call, text, expected):
    from polyfold.cli._formats import Selection, open_data
    from polyfold.cli._inputs import read_target

    write(text)
    selection = Selection(target="y")
    data = open_data("t.csv", selection)
    np.testing.assert_array_equal(read_target(data, selection), np.array(expected, object))
    assert list(read_target(data, selection, "labels")) == list(pd.read_csv("t.csv", sep=text[1], dtype=str)["y"])


@pytest.mark.parametrize("text", ["a;b\n£1,244;-0.664\n£961;-0.613\n", "a;b\n1,244;£4,654.69\n961;£3\n"])
def test_a_file_has_one_decimal_mark(call, text):
    """A point that marks decimals in one column makes the commas of the others mark thousands."""
    write(text)
    frame, notes = read()
    np.testing.assert_array_equal(frame["a"], [1244, 961])
    assert "1,244' is 1244" in notes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n0,5;1.234\n1,5;500\n2,5;2.345\n3,5;999\n", {"a": [0.5, 1.5, 2.5, 3.5], "b": [1234, 500, 2345, 999]}),
        ('x,z,y\n"0,93","1,500",1\n"0,173","2,250",2\n"1,500","3,125",3\n',
         {"x": [0.93, 0.173, 1.5], "z": [1.5, 2.25, 3.125]}),
        ('x,y\n"0,936",1\n"0,173",2\n"1,500",3\n', {"x": [0.936, 0.173, 1.5], "y": [1, 2, 3]}),
        ("a;b\n1.234.567;1.234\n5;7\n", {"a": [1234567, 5], "b": [1234, 7]}),
        ("a;b\n1,234;3.0\n2,345;\n", {"a": [1234, 2345], "b": [3, np.nan]}),
        ("a;b\n0,5;3.0\n1,5;inf\n", {"a": [0.5, 1.5]}),
        ("a;b\n1.234;1\n2.345;2\n", {"a": [1.234, 2.345], "b": [1, 2]}),
        ("a;b\n0,5;\n1,5;7\n", {"a": [0.5, 1.5], "b": [np.nan, 7]}),
    ],
)  # fmt: skip
def test_the_decimal_mark_that_one_column_shows_is_that_of_the_others(call, text, expected):
    write(text)
    frame, _ = read(columns=tuple(expected))
    for name, numbers in expected.items():
        np.testing.assert_array_equal(frame[name], numbers)


@pytest.mark.parametrize(
    ("train", "new", "expected"),
    [
        ([f"{1000 + 37 * i:,}.50" for i in range(60)], ["1,234", "2345.5"], [1234, 2345.5]),
        ([f"{i},5" for i in range(60)], ['"1,234"', "7"], [1.234, 7]),
        ([f"{1 + i / 10}%" for i in range(60)], ["2%", "3.50 %"], [2, 3.5]),
        ([f"${1 + i / 10}" for i in range(60)], ["$2", "-$3.5"], [2, -3.5]),
        ([f"{i},5" for i in range(60)], ["1.5", "7"], "'0,5', as in the rows the model was fitted to, got '1.5'"),
        ([f"{i}.5" for i in range(60)], ["1,234", "7"], "'0.5', as in the rows the model was fitted to, got '1,234'"),
        ([f"{1 + i / 10}%" for i in range(60)], ["$12.5", "$3"], "written like '1.0%'"),
        ([f"{1 + i / 10}%" for i in range(60)], ["0.125", "0.5"], "got '0.125'; write them in the format 1234.5%"),
        ([f"${1 + i / 10}" for i in range(60)], ["€12.5", "€3"], "column 'price' must hold numbers"),
    ],
)
def test_new_files_are_read_with_the_number_format_of_the_model(call, refused, train, new, expected):
    write("price;w\n" + "".join(f"{value};{number % 7}\n" for number, value in enumerate(train)))
    call(f"fit t.csv {SMALL} -o m.polyfold")
    write("price;w\n" + "".join(f"{value};{number}\n" for number, value in enumerate(new)), "new.csv")
    if isinstance(expected, str):
        refused("transform m.polyfold new.csv -o z.npy", expected)
        return
    call("transform m.polyfold new.csv -o z.npy")
    import polyfold as pf

    rows = pd.DataFrame({"price": np.array(expected, float), "w": np.arange(len(expected), dtype=float)})
    np.testing.assert_allclose(np.load("z.npy"), pf.load("m.polyfold").transform(rows), atol=1e-12)


@pytest.mark.parametrize(
    ("values", "example"),
    [
        (["12.3%", "4.1", "5.5"], "12.3%"),
        (["$5.10", "€6", "$7"], "$5.10"),
        (["1,5", "2.5", "3.5"], "1,5"),
        (["5", "6", "7 kg"], "7 kg"),
        (["1 234", "2 500", "3 100"], "1 234"),
    ],
)
def test_numbers_of_several_forms_are_categories_with_a_note(call, values, example):
    write("a;b\n" + "".join(f"{value};{number}\n" for number, value in enumerate(values)))
    frame, notes = read()
    assert list(frame["a"]) == values
    assert f"category a ({example!r} is not a number)" in notes


def test_words_are_categories_without_a_note(call):
    write("a,b,c\nnorth,007,1\nsouth,a12,2\n,b3,3\n")
    frame, notes = read()
    assert list(frame["a"]) == ["north", "south", "(missing)"]
    assert list(frame["b"]) == ["007", "a12", "b3"]
    assert notes == ""


def test_notes_are_printed_once_and_named_columns_are_not_parsed(call):
    table("t.csv", ["1.5%", "2%", "3%", "4%"] * 5)
    call(f"fit t.csv {SMALL} -o m.polyfold")
    assert call.notes.count("code ('1.5%' is 1.5)") == 1
    call("transform m.polyfold t.csv -o z.npy")
    assert call.notes == ""
    call(f"fit t.csv --categorical code {SMALL} -o m.polyfold")
    assert "'1.5%'" not in call.notes


def column(rng, kind, n):
    """Return a column as it is written, and as it should be read."""
    numbers = (rng.standard_normal(n) * rng.choice([1, 100, 1e5])).round(2)
    words = rng.choice(["north, east", "south", "a|b", "x;y", 'say "no"'], n)
    written = {
        "plain": [repr(float(x)) for x in numbers],
        "percent": [f"{x:.2f}%" for x in numbers],
        "dollars": [f"{'-' if x < 0 else ''}${abs(x):.2f}" for x in numbers],
        "decimal comma": [f"{x:.2f}".replace(".", ",") for x in numbers],
        "thousands": [f"{x:,.2f}" for x in numbers],
        "words": list(words),
    }[kind]
    return written, words if kind == "words" else numbers


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("seed", range(25))
def test_generated_tables_are_read_as_they_were_meant(call, separator, seed):
    rng = np.random.default_rng(seed)
    n, names = int(rng.integers(2, 60)), list(rng.permutation(["a, kg", 'b"2"', "ö", "x;y", "plain"]))
    columns = [column(rng, rng.choice(["plain", "percent", "dollars", "decimal comma", "thousands"]), n)]
    kinds = ["plain", "percent", "dollars", "decimal comma", "thousands", "words"]
    columns += [column(rng, kind, n) for kind in rng.choice(kinds, rng.integers(1, 5))]
    names, header = names[: len(columns)], bool(rng.random() < 0.7)
    index, quoting = header and bool(rng.random() < 0.3), int(rng.integers(2))
    frame = pd.DataFrame({name: written for name, (written, _) in zip(names, columns, strict=True)})
    frame.to_csv("t.csv", sep=separator, header=header, index=index, quoting=quoting)
    found, _ = read()
    assert list(found.columns) == (names if header else [str(number) for number in range(len(columns))])
    for name, (_, expected) in zip(found.columns, columns, strict=True):
        np.testing.assert_array_equal(found[name].to_numpy(), expected)


# Headers, indexes, encodings


def test_the_index_of_to_csv_is_left_out(call):
    table("t.csv", CODES)
    frame = pd.read_csv("t.csv", dtype=str)
    frame[::-1].to_csv("t.csv")
    found, notes = read()
    assert list(found.columns) == ["x", "z", "code"]
    assert "column 1 is left out: an index as DataFrame.to_csv() writes it" in notes
    pd.read_csv("t.csv", dtype=str).to_csv("t.csv", index=False)
    assert list(read()[0].columns) == ["x", "z", "code"]
    assert "Unnamed: 0" in read(columns=("Unnamed: 0", "x"))[0]


def test_an_empty_last_column_is_left_out(call):
    write("a,b,\n1,2,\n3,4,\n")
    frame, notes = read()
    assert list(frame.columns) == ["a", "b"]
    assert "column 3 is left out: no name and no values" in notes


@pytest.mark.parametrize(
    ("text", "n_rows"),
    [
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n4.7,3.2,versicolor\n", 3),
        ("0,0,5,13\n0,0,0,12\n", 2),
        ("0.5\n0.7\n", 2),
        ("0,1,2\n3,4,5\n6,7,8\n", 3),
        ("1,5;2,5\n3,5;NA\n4,5;3\n", 3),
        ("$5,1\n$6,0\n", 2),
        ("5.1,,1.4\n4.9,3.0,1.3\n", 2),
        ("400.5,401,403.5,405,407,408\n0.1,0.3,0.2,0.2,0.1,0.1\n", 2),
        ("1,2,3,4,5,9\n4,1,7,2,8,3\n", 2),
        ("1,NULL,3\n4,5,6\n7,8,9\n", 3),
        ("1,n/a,3\n4,5,6\n", 2),
        ("3,4\n1,7\n9,2\n5,5\n", 4),
        ("1,2,3\n7,4,5\n", 2),
        ("0\n5\n7\n", 3),
        ("2024-01-01,abc\n2024-01-02,def\n2024-01-05,ghi\n", 3),
        ("0,1\n1,0\n1,1\n0,1\n", 4),
        ("Ann,39,x\nBob,5,y\nCem,7,x\n", 3),
        ("p,x,n\ne,b,y\np,b,n\ne,x,y\n", 4),
        ("p,w,n\ne,b,y\np,b,n\ne,x,y\n", 3),
        ("10%,50%,90%\n1,2,3\n0,2,5\n", 2),
        ("a,b\n1,2\n", 1),
        ("0,1,2\n5.1,3.5,1.4\n", 1),
        (",0,1,2\n0,5.1,3.5,1.4\n1,5.1,3.5,1.4\n", 2),
        ("country,2010,2015,2020\nA,1,2,3\nB,2,3,4\n", 2),
        ("id,17\n1,3\n2,4\n", 2),
        ("name,site\nA,north\nB,south\n", 2),
    ],
)
def test_a_missing_header_is_found_and_reported(call, text, n_rows):
    write(text)
    frame, notes = read()
    assert len(frame) == n_rows
    assert ("the first line is read as data" in notes) == (n_rows == text.count("\n"))
    is_unclear = text.startswith(("0,", ",0", "country", "id", "p,w"))
    assert ("the first line is read as names" in notes) == (n_rows < text.count("\n") and is_unclear)
    assert len(read(header=True)[0]) == text.count("\n") - 1
    assert len(read(header=False)[0]) == text.count("\n")


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_encodings_are_options(call, refused, encoding):
    rows = "".join(f"{a % 9},{a * a % 7},{'Köln' if a % 2 else 'Paris'}\n" for a in range(20))
    write(f"größe,b,stadt\n{rows}", encoding=encoding)
    refused(f"fit t.csv {SMALL} -o m.polyfold", "pass --encoding, for example utf-16 or latin-1")
    call(f"fit t.csv --encoding {encoding} {SMALL} -o m.polyfold")
    assert call("info m.polyfold --json")["columns"] == ["größe", "b", "stadt"]


def test_a_byte_order_mark_is_not_part_of_a_name(call):
    write("a,b\n1,2\n3,4\n", encoding="utf-8-sig")
    assert list(read()[0].columns) == ["a", "b"]


# Targets


def test_a_target_is_never_a_folder_of_the_same_name(call, refused):
    import os

    table("t.csv", CODES * 5, Label=["u", "v"] * 10)
    os.mkdir("label")
    refused(f"fit t.csv --target label {SMALL} -o m.polyfold", "the nearest name is 'Label'")


def test_labels_are_text_as_written(call):
    labels = ["007", "7", "NA", "7.0"] * 10
    table("t.csv", CODES * 10, x=[10.0, 0.0, -10.0, 20.0] * 10, cls=labels)
    write(CENTROID, "c.toml")
    options = "--target cls --model ModularClassifier --set representation__n_modules=2 --config c.toml"
    call(f"fit t.csv {options} -o c.polyfold")
    import polyfold as pf

    assert list(pf.load("c.polyfold")[-1].classes_) == ["007", "7", "7.0", "NA"]
    assert call("evaluate c.polyfold t.csv --target cls --json")["accuracy"] > 0.9
    pd.DataFrame({"y": labels}).to_csv("y.csv", index=False)
    assert call("evaluate c.polyfold t.csv --target y.csv --json")["accuracy"] > 0.9
    pd.read_csv("t.csv", dtype=str).assign(cls=["7", "other"] * 20).to_csv("new.csv", index=False)
    assert call("evaluate c.polyfold new.csv --target cls --json")["accuracy"] < 0.6
    assert "classes that the model has not seen: 20 rows, such as 'other'" in call.notes


def test_missing_labels_matter_to_classifiers_only(call, refused):
    table("train.csv", CODES * 5, cls=["a", None, "b", "a"] * 5)
    call(f"fit train.csv --target cls {SMALL} -o m.polyfold")
    refused("fit train.csv --target cls --model ModularClassifier -o c.polyfold", "got 5 missing values")


def test_repeated_fractions_are_classes(call, shared):
    np.save("y.npy", np.load(shared / "y.npy") + 0.5)
    figures = call("evaluate :digits.polyfold :digits.npy --target y.npy --json")
    assert figures["vote accuracy"] > 0.2
    np.save("y.npy", np.arange(120) / 7)
    assert "vote accuracy" not in call("evaluate :digits.polyfold :digits.npy --target y.npy --json")


def test_ids_are_not_overwritten_by_clusters(refused):
    table("t.csv", CODES * 5, cluster=[f"id {number}" for number in range(20)])
    refused("cluster t.csv --id cluster -n 2 -o g.csv", "--id must not have the name of a column of the output")


def test_clusters_carry_row_numbers_or_an_id(call):
    quick = "-n 2 --set network__n_clusterings=10"
    table("t.csv", CODES * 5, name=[f"00{number}" for number in range(20)])
    call(f"cluster t.csv --drop name {quick} -o g.csv --save g.polyfold")
    groups = pd.read_csv("g.csv")
    assert list(groups.columns) == ["row", "cluster"]
    assert list(groups["row"]) == list(range(20))
    call(f"cluster t.csv --id name {quick} -o i.csv")
    named = pd.read_csv("i.csv", dtype={"name": str})
    assert list(named["name"]) == [f"00{number}" for number in range(20)]
    assert list(named["cluster"]) == list(groups["cluster"])
    call(f"cluster t.csv --id name --names {quick} -o n.csv")
    assert list(pd.read_csv("n.csv").columns) == ["name", "cluster", "cluster_name"]
    call("cluster t.csv --with g.polyfold --id name -o i.parquet")
    assert list(pd.read_parquet("i.parquet").columns) == ["name", "cluster"]
    pd.read_csv("t.csv", dtype=str).set_index("name").rename_axis(None).to_csv("t.csv")
    call(f"cluster t.csv {quick} -o g.csv")
    assert list(pd.read_csv("g.csv", dtype=str)["index"]) == [f"00{number}" for number in range(20)]


@pytest.mark.parametrize("command", ["cluster {} -n 2 --names", "cluster {} --with c.polyfold --names", "map {}"])
def test_a_file_is_scanned_once(call, monkeypatch, command):
    table("t.csv", CODES * 10)
    call("cluster t.csv -n 2 --save c.polyfold -o groups.csv")
    from polyfold.tables import Csv

    scans, count = [], Csv._count
    monkeypatch.setattr(Csv, "_count", lambda reader, expected: scans.append(reader.path) or count(reader, expected))
    call(f"{command.format('t.csv')} -o out.csv")
    assert len(scans) == 1
