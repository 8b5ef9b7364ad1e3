"""A corpus of awkward tables, each with the kinds, counts or the message that it must give.

A table that is read must also pass a round trip: ``--plan`` prints what is stored in the model of the same file.
"""

import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("click")

NUMBER, CATEGORY, MANY, CODE = "number", "category", "many categories", "code"
DATE, TEXT, IDENTIFIER, CONSTANT = "date", "free text", "identifier", "constant"
N = 40
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 3)).round(3)
WORDS = ("card", "payment", "refund", "late", "arrived", "waiting", "error", "login", "slow", "great", "support")
TEXTS = [" ".join(RNG.choice(WORDS, 6)) for _ in range(N)]


def table(separator=",", end="\n", quote="", header=True, **columns):
    """Return text with columns x, y of numbers and further columns."""
    columns = {"x": X[:, 0], "y": X[:, 1], **columns}
    lines = [list(columns)] if header else []
    lines += [[str(value) for value in row] for row in zip(*columns.values(), strict=True)]
    return "".join(separator.join(f"{quote}{field}{quote}" for field in line) + end for line in lines)


def days(form, step=5, start="2023-01-01"):
    return list(pd.date_range(start, periods=N, freq=f"{step}D").strftime(form))


def cycle(*values):
    return [values[i % len(values)] for i in range(N)]


XY = {"x": NUMBER, "y": NUMBER}
DATE_COLUMN = {**XY, "d": DATE}

# name, text (or bytes), options, expected kinds, further expectations by column
READ = [
    # layout
    ("commas", table(), "", XY, {}),
    ("semicolons", table(";"), "", XY, {}),
    ("tabs", table("\t"), "", XY, {}),
    ("bars", table("|"), "", XY, {}),
    ("windows line ends", table(end="\r\n"), "", XY, {}),
    ("all fields in quotes", table(quote='"'), "", XY, {}),
    ("spaces after commas", table(", "), "", XY, {}),
    ("empty lines between rows", table(end="\n\n"), "", XY, {}),
    ("no line end at the end", table().rstrip("\n"), "", XY, {}),
    ("byte order mark", table().encode("utf-8-sig"), "", XY, {}),
    ("utf-16", table(stadt=cycle("Köln", "Ulm")).encode("utf-16"), "--encoding utf-16", {**XY, "stadt": CATEGORY}, {}),
    ("latin-1", table(ort=cycle("Köln", "Ulm")).encode("latin-1"), "--encoding latin-1", {**XY, "ort": CATEGORY}, {}),
    ("separator in quoted names", '"a, kg";"b; cm"\n' + "".join(f"{a};{b}\n" for a, b in X[:, :2]), "",
     {"a, kg": NUMBER, "b; cm": NUMBER}, {}),
    ("separator in quoted text", table(c=cycle('"a,b"', "c")), "", {**XY, "c": CATEGORY}, {"c": {"example": "a,b"}}),
    ("line end in quoted text", table(c=cycle('"a\nb"', "c")), "", {**XY, "c": CATEGORY}, {}),
    ("doubled quotes", table(c=cycle('"say ""no"""', "c")), "", {**XY, "c": CATEGORY}, {"c": {"example": 'say "no"'}}),
    ("no header", table(header=False), "", {"0": NUMBER, "1": NUMBER}, {}),
    ("years as header", "2010,2015,2020\n" + "".join(f"{a},{b},{c}\n" for a, b, c in X), "--header",
     {"2010": NUMBER, "2015": NUMBER, "2020": NUMBER}, {}),
    ("index of to_csv", pd.DataFrame(X[:, :2], columns=["x", "y"]).to_csv(), "", XY, {}),
    ("separator at the end of all lines", table(end=",\n"), "", XY, {}),
    ("names that occur twice", "a,a\n" + "".join(f"{a},{b}\n" for a, b in X[:, :2]), "",
     {"a": NUMBER, "a.1": NUMBER}, {}),
    ("spaces in names", "a b, c d \n" + "".join(f"{a},{b}\n" for a, b in X[:, :2]), "",
     {"a b": NUMBER, "c d ": NUMBER}, {}),
    # numbers
    ("decimal commas", table(";", p=[f"{v:.2f}".replace(".", ",") for v in X[:, 2]]), "", {**XY, "p": NUMBER},
     {"p": {"remark": f"'{X[0, 2]:.2f}'".replace(".", ",") + f" is {X[0, 2]:.2f}"}}),
    ("percentages", table(p=[f"{v:.1f}%" for v in X[:, 2]]), "", {**XY, "p": NUMBER}, {}),
    ("dollars", table(p=[f"${abs(v):.2f}" for v in X[:, 2]]), "", {**XY, "p": NUMBER}, {}),
    ("euros behind", table(";", p=[f"{abs(v):.2f} €".replace(".", ",") for v in X[:, 2]]), "", {**XY, "p": NUMBER}, {}),
    ("thousands in quotes", table(p=[f'"{1000 + i * 37:,}"' for i in range(N)]), "", {**XY, "p": NUMBER},
     {"p": {"remark": "'1,000' is 1000"}}),
    ("integers beyond 64 bits", table(p=[10**22 + 7 * i**2 * 10**18 for i in range(N)]), "", {**XY, "p": NUMBER}, {}),
    ("exponents", table(p=[f"{v:e}" for v in X[:, 2]]), "", {**XY, "p": NUMBER}, {}),
    ("missing in several spellings", table(p=cycle("1.5", "", "NA", "2.5", "NaN", "null")), "", {**XY, "p": NUMBER},
     {"p": {"missing": sum(i % 6 in (1, 2, 4, 5) for i in range(N)), "distinct": 2}}),
    ("units", table(p=cycle("5 kg", "6 kg", "7 kg")), "", {**XY, "p": CATEGORY},
     {"p": {"remark": "'5 kg' is not a number"}}),
    ("two currencies", table(p=cycle("$5", "€6")), "", {**XY, "p": CATEGORY}, {}),
    ("numbers and a word", table(p=cycle("1", "2", "unknown")), "", {**XY, "p": CATEGORY},
     {"p": {"remark": "'unknown' is not a number"}}),
    ("whole numbers are numbers", table(age=[20 + i * 7 % 43 for i in range(N)]), "", {**XY, "age": NUMBER}, {}),
    ("years are numbers", table(year=[1980 + i for i in range(N)]), "", {**XY, "year": NUMBER}, {}),
    ("0 and 1 are numbers", table(flag=cycle(0, 1, 1)), "", {**XY, "flag": NUMBER}, {}),
    ("true and false", table(flag=cycle("true", "false")), "", {**XY, "flag": CATEGORY}, {}),
    # codes, identifiers, constants
    ("leading zeros", table(plz=cycle("01067", "80331", "04109")), "", {**XY, "plz": CODE},
     {"plz": {"example": "01067"}}),
    ("a zip code by its name", table(zip_code=cycle(80331, 10115)), "", {**XY, "zip_code": CODE}, {}),
    ("leading zeros in one value", table(site=["007", *map(str, range(10, 9 + N))]), "",
     {**XY, "site": IDENTIFIER}, {}),
    ("row numbers", table(n=list(range(N))), "", {**XY, "n": IDENTIFIER}, {}),
    ("row numbers from 1", table(n=list(range(1, N + 1))), "", {**XY, "n": IDENTIFIER}, {}),
    ("identifiers of text", table(who=[f"C{i:04}" for i in range(N)]), "", {**XY, "who": IDENTIFIER}, {}),
    ("numbers named id", table(CustomerID=[7000 + 13 * i for i in range(N)]), "", {**XY, "CustomerID": IDENTIFIER}, {}),
    ("unique numbers are not identifiers", table(pay=[7000 + 13 * i for i in range(N)]), "", {**XY, "pay": NUMBER}, {}),
    ("nearly unique names", table(who=["Ann", "Ann", *(f"N{i}" for i in range(N - 2))]), "",
     {**XY, "who": IDENTIFIER}, {}),
    ("a named identifier is used", table(who=[f"C{i:04}" for i in range(N)]), "--columns x,who",
     {"x": NUMBER, "who": CATEGORY}, {}),
    ("constants", table(c=["a"] * N, d=[5] * N), "", {**XY, "c": CONSTANT, "d": CONSTANT}, {}),
    ("an empty column", table(c=[""] * N), "", {**XY, "c": CONSTANT}, {"c": {"missing": N, "distinct": 0}}),
    ("one value and gaps", table(c=cycle("yes", "")), "", {**XY, "c": CATEGORY}, {"c": {"missing": N // 2}}),
    # dates
    ("dates", table(d=days("%Y-%m-%d")), "", DATE_COLUMN, {"d": {"remark": ""}}),
    ("dates and times", table(d=days("%Y-%m-%dT%H:%M:%SZ")), "", DATE_COLUMN, {}),
    ("dates with gaps", table(d=["", *days("%Y-%m-%d")[1:]]), "", DATE_COLUMN, {"d": {"missing": 1}}),
    ("german dates", table(d=days("%d.%m.%Y")), "", DATE_COLUMN, {"d": {"remark": "'01.01.2023' is 2023-01-01"}}),
    ("american dates", table(d=days("%m/%d/%Y")), "", DATE_COLUMN, {"d": {"format": "%m/%d/%Y"}}),
    ("british dates", table(d=days("%d/%m/%Y")), "", DATE_COLUMN, {"d": {"format": "%d/%m/%Y"}}),
    ("dates that can be swapped", table(d=cycle("03/04/2023", "05/06/2023")), "", DATE_COLUMN,
     {"d": {"remark": "'03/04/2023' is 2023-03-04; day and month may be swapped"}}),
    ("years of two digits", table(d=days("%d.%m.%y")), "", DATE_COLUMN,
     {"d": {"remark": "'01.01.23' is 2023-01-01; the century is a guess"}}),
    ("a code by its name that is named is a number", table(tax_code=cycle(80331, 10115)), "--columns x,tax_code",
     {"x": NUMBER, "tax_code": NUMBER}, {}),
    ("dates with names of months", table(d=days("%d %b %Y")), "", DATE_COLUMN, {}),
    ("dates of two forms", table(d=cycle("2023-01-05", "05.01.2023")), "", {**XY, "d": CATEGORY},
     {"d": {"remark": "'2023-01-05' is not a number"}}),
    ("times of the day", table(d=cycle("12:30", "13:45")), "", {**XY, "d": CATEGORY}, {}),
    # text and categories
    ("free text", table(note=TEXTS), "", {**XY, "note": TEXT}, {}),
    ("repeated sentences", table(note=cycle(*TEXTS[:3])), "", {**XY, "note": CATEGORY}, {}),
    ("many categories", "a,b,x\n" + "".join(f"{i % 3},town {i % 60},{i * i % 7}\n" for i in range(240)), "",
     {"a": NUMBER, "b": MANY, "x": NUMBER}, {"b": {"distinct": 60}}),
    ("numbers as categories", table(k=cycle(1, 2, 3)), "--categorical k", {**XY, "k": CATEGORY}, {}),
    ("categories only", "a,b\n" + "".join(f"{'uv'[i % 2]},{'xyz'[i % 3]}\n" for i in range(N)), "",
     {"a": CATEGORY, "b": CATEGORY}, {}),
    ("a target is not a column", table(label=cycle("NA", "007")), "--target label", XY, {}),
    ("a column left out", table(c=cycle("a", "b")), "--drop c", XY, {}),
]  # fmt: skip
REFUSED = [
    ("an empty file", "", "t.csv is empty"),
    ("a header alone", "a,b\n", "t.csv has no rows below the line of column names"),
    ("a field too many", table().replace("\n", ",\n").replace("x,y,", "x,y", 1),
     "t.csv, line 2: got 3 fields, expected 2"),
    ("a field too few", table(z=X[:, 2]) + "1,2\n", f"t.csv, line {N + 2}: got 2 fields, expected 3"),
    ("an open quote", table() + '1,"2\n', f"t.csv, line {N + 2}: quotes are not closed properly"),
    ("utf-16 without the option", table().encode("utf-16"), "pass --encoding, for example utf-16 or latin-1"),
    ("latin-1 without the option", table(c=cycle("ä", "b")).encode("latin-1"), "pass --encoding"),
    ("NUL characters", b"a,b\n1,\0\n", "it holds NUL characters"),
    ("lines of spaces", "a\n1\n  \n2\n", "t.csv has 1 lines with spaces only"),
    ("fields separated by spaces", table(" "), "t.csv separates its fields by spaces"),
    ("nothing but identifiers", "who\n" + "".join(f"C{i}\n" for i in range(N)), "t.csv has only identifiers"),
    ("the name of a part of a date is taken", table(d=days("%Y-%m-%d"), **{"d year": X[:, 0]}), "called 'd year'"),
    ("infinite numbers", table(p=cycle("1", "inf")), "column 'p' must hold numbers up to 1e+100"),
    ("numbers without a finite square", table(p=cycle("1", "1e300")), "column 'p' must hold numbers up to 1e+100"),
    ("the name of joint text is taken", table(a=TEXTS, b=TEXTS, **{"a + b": X[:, 2]}), "would be called 'a + b'"),
]  # fmt: skip


def write(content):
    with open("t.csv", "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def test_the_corpus_is_large_enough():
    assert len(READ) + len(REFUSED) >= 60


@pytest.mark.parametrize(
    ("content", "options", "kinds", "more"), [case[1:] for case in READ], ids=[case[0] for case in READ]
)
def test_a_table_is_understood_and_stored_as_printed(call, content, options, kinds, more):
    write(content)
    plan = call(f"fit t.csv --plan {options} --json")
    assert {column["name"]: column["kind"] for column in plan["columns"]} == kinds
    rows = 240 if "b" in kinds and kinds["b"] == MANY else N
    assert plan["rows"] == rows
    for column in plan["columns"]:
        assert column["distinct"] + (column["missing"] > 0) <= rows
        assert column.items() >= more.get(column["name"], {}).items()
    fit = f"fit t.csv {options} --model KernelEmbedding --set n_components=1 --set kernel=linear"
    call(f"{fit} -o m.polyfold")
    assert call("info m.polyfold --json")["table"]["columns"] == plan["columns"]
    reading = options if options.startswith(("--encoding", "--header")) else ""
    call(f"transform m.polyfold t.csv {reading} -o z.npy")
    assert np.isfinite(np.load("z.npy")).all()


@pytest.mark.parametrize(("content", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_table_that_cannot_be_read_is_refused_with_its_reason(refused, content, message):
    write(content)
    refused("fit t.csv --plan", message)


def test_old_dates_have_days(call):
    pytest.importorskip("pandas", minversion="3")  # earlier versions have nanoseconds only, from 1677 on
    write(table(d=days("%Y-%m-%d", start="1500-01-01")))
    assert call("fit t.csv --plan --json")["columns"][2]["kind"] == DATE
    call("fit t.csv --model KernelEmbedding --set n_components=1 -o m.polyfold")


def test_the_plan_is_a_table_for_people(call):
    write(table(who=[f"C{i:04}" for i in range(N)], d=days("%d.%m.%Y")))
    lines = call("cluster t.csv --plan").splitlines()
    assert lines[0] == "t.csv: 40 rows, 4 columns"
    assert [line.split()[:2] for line in lines[2:]] == [
        *(["x", "number"], ["y", "number"], ["who", "identifier"], ["d", "date"])
    ]
    assert "'01.01.2023' is 2023-01-01" in lines[-1]
    call("fit t.csv --model KernelEmbedding -o m.polyfold")
    assert call.notes.count("identifier") == 1
    assert "left out" in call.notes


def test_parts_of_dates_and_texts_are_features(call):
    import polyfold as pf

    write(table(d=days("%d.%m.%Y"), note=TEXTS))
    call("fit t.csv --model KernelEmbedding --set n_components=1 -o m.polyfold")
    model = pf.load("m.polyfold")
    assert list(model.feature_names_in_) == ["x", "y", "d year", "d month", "d weekday", "d days", "note"]
    names = list(model[-1].feature_names_in_)
    assert names[:6] == ["x", "y", "d year", "d month", "d weekday", "d days"]
    frame = pd.read_csv("t.csv")
    dates = pd.to_datetime(frame["d"], format="%d.%m.%Y")
    found = pd.DataFrame({"x": frame["x"], "y": frame["y"], "d year": dates.dt.year, "d month": dates.dt.month})
    found["d weekday"], found["d days"] = dates.dt.day_of_week, (dates - pd.Timestamp(0)).dt.days
    prepared = np.asarray(model[:-1].transform(found.astype(float).assign(note=frame["note"])))
    call("transform m.polyfold t.csv -o z.npy")
    np.testing.assert_allclose(
        model[-1].transform(model[:-1].transform(found.astype(float).assign(note=frame["note"]))), np.load("z.npy")
    )
    variance = prepared.var(axis=0)
    np.testing.assert_allclose(variance[:2], 1)
    np.testing.assert_allclose(variance[2:6].sum(), 1 if dates.dt.year.nunique() > 1 else 0.75)
    assert 0 < variance[6:].sum() <= 1


def test_dates_are_read_with_the_format_of_the_model(call, refused):
    write(table(d=days("%d/%m/%Y")))
    call("fit t.csv --model KernelEmbedding --set n_components=1 -o m.polyfold")
    write(table(d=cycle("03/04/2023", "05/06/2023")))
    call("transform m.polyfold t.csv -o day.npy")
    write(table(d=cycle("2023-04-03", "2023-06-05")))
    refused("transform m.polyfold t.csv -o z.npy", "column 'd' must hold dates such as '01/01/2023', got '2023-04-03'")
    from polyfold.tables._column_kinds import Plan

    stored = call("info m.polyfold --json")["table"]
    assert json.loads(json.dumps(stored)) == stored
    frame = Plan.stored(type("M", (), {"table_": stored})).apply(
        pd.DataFrame({"x": [1.0], "y": [1.0], "d": ["03/04/2023"]})
    )
    assert frame.loc[0, "d month"] == 4


def test_new_files_need_only_the_columns_that_are_used(call, refused):
    write(table(who=[f"C{i:04}" for i in range(N)], c=["a"] * N))
    call("fit t.csv --model KernelEmbedding --set n_components=1 -o m.polyfold")
    call("transform m.polyfold t.csv -o all.npy")
    write(table())
    call("transform m.polyfold t.csv -o z.npy")
    np.testing.assert_array_equal(np.load("z.npy"), np.load("all.npy"))
    write("x\n1\n2\n")
    refused("transform m.polyfold t.csv -o no.npy", "t.csv lacks columns the model was fitted to: y")


def test_embeddings_keep_their_unit_length(call):
    rows = RNG.standard_normal((N, 8))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    pd.DataFrame(rows, columns=[f"e{j}" for j in range(8)]).to_csv("t.csv", index=False)
    call("cluster t.csv --kernel auto -n 2 -o g.csv --save g.polyfold")
    assert "used as they are: all rows have unit length" in call.notes
    import polyfold as pf

    assert type(pf.load("g.polyfold").kernel_).__name__ == "DiffusionMaps"
    write(table(c=cycle("a", "b")))
    call("cluster t.csv --kernel auto -n 2 -o g.csv --save g.polyfold")
    assert pf.load("g.polyfold")[-1].kernel_ == "bootstrap_network"


def test_advice_to_scale_appears_only_without_scaling(call):
    write(table(w=X[:, 2] * 1e6, c=cycle(*"abcdefgh"), v=cycle(1, 2, 3, 4, 5)))
    quick = "-n 2 --set network__n_clusterings=10"
    call(f"cluster t.csv {quick} -o g.csv")
    assert "variance" not in call.notes
    call(f"cluster t.csv --prepare none --drop c {quick} -o g.csv")
    assert "of the variance of X is in 1 of its 4 columns (w)" in call.notes
    assert "--prepare scale" in call.notes


def test_clusters_are_named_by_the_columns(call):
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1], N // 2)
    pay, noise = (rng.standard_normal(N) + 8 * group).round(3), rng.standard_normal(N).round(3)
    pd.DataFrame({"pay": pay, "noise": noise, "who": [f"C{i}" for i in range(N)]}).to_csv("t.csv", index=False)
    figures = call("cluster t.csv -n 2 --names --levels --id who -o g.csv --json")
    groups = pd.read_csv("g.csv")
    assert list(groups.columns[:3]) == ["who", "cluster", "cluster_name"]
    assert set(groups["cluster_name"][:20]) == {"pay low"}
    assert set(groups["cluster_name"][20:]) == {"pay high"}
    assert {"clusters_2_name"} <= set(groups.columns)
    named = {key: value for key, value in figures.items() if key.startswith("cluster ")}
    assert sorted(named.values()) == ["pay high", "pay low"]
    assert all("(20 rows)" in key for key in named)
