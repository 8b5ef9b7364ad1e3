"""The commands from file to file."""

import itertools
import os
import re
from importlib.metadata import metadata
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

import polyfold as pf

pytest.importorskip("click")
pytest.importorskip("rich")
pd = pytest.importorskip("pandas")

from polyfold.cli._main import commands  # noqa: E402


def read(path):
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".npz"):
        return np.load(path)["X"]
    if path.endswith(".zarr"):
        return pytest.importorskip("zarr").open_array(path, mode="r")[:]
    return (pd.read_csv(path) if path.endswith(".csv") else pd.read_parquet(path)).to_numpy()


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "parquet", "zarr"])
def test_every_kind_of_file_is_written_and_read(call, shared, kind):
    pytest.importorskip({"zarr": "zarr", "parquet": "pyarrow"}.get(kind, "numpy"))
    figures = call(f"transform :digits.polyfold :digits.npy -o z.{kind} --json")
    assert (figures["rows"], figures["columns"]) == (120, 6)
    expected = pf.load(shared / "digits.polyfold").transform(np.load(shared / "digits.npy"))
    np.testing.assert_allclose(read(f"z.{kind}"), expected, rtol=1e-12)
    call(f"fit z.{kind} --set n_modules=2 --set n_components=2 --prepare none -o again.polyfold")
    assert pf.load("again.polyfold").n_features_in_ == 6


def test_sparse_files_stay_sparse(call, shared):
    call("fit :sparse.npz --set n_modules=2 --set n_components=3 --set kernel=cosine -o s.polyfold")
    call("transform s.polyfold :sparse.npz -o z.npy")
    X = sp.csr_matrix(np.load(shared / "digits.npy"))
    model = pf.ModularKernelPCA(2, 3, kernel="cosine", random_state=0).fit(X)
    np.testing.assert_array_equal(np.load("z.npy"), model.transform(X))


def test_tables_are_prepared_and_columns_found_by_name(call, refused, shared):
    frame = pd.read_csv(shared / "iris.csv")
    call("transform :iris.polyfold :iris.csv -o z.csv")
    Z = pd.read_csv("z.csv")
    assert list(Z.columns[:3]) == ["module0_dim0", "module0_dim1", "module1_dim0"]
    assert np.isfinite(Z.to_numpy()).all()
    other = frame[frame.columns[::-1]].assign(more=1).fillna({"site": "west"})
    other.to_csv("other.csv", index=False)
    call("transform :iris.polyfold other.csv -o z2.csv")
    np.testing.assert_array_equal(
        np.delete(pd.read_csv("z2.csv").to_numpy(), 5, axis=0), np.delete(Z.to_numpy(), 5, axis=0)
    )
    frame[["site"]].to_csv("narrow.csv", index=False)
    refused("transform :iris.polyfold narrow.csv -o z3.csv", "lacks columns the model was fitted to: sepal length (cm)")


def test_the_preparation_is_stored_and_described(call):
    about = call("info :iris.polyfold --json")
    assert about["steps"] == ["ColumnTransformer", "ModularKernelPCA"]
    assert "species" not in about["columns"]
    assert "site" in about["columns"]
    assert about["parameters"]["n_modules"] == 3


def test_images_are_rows(call, refused, shared):
    pillow = pytest.importorskip("PIL.Image")
    X, y = np.load(shared / "digits.npy"), np.load(shared / "y.npy")
    for number in range(40):
        os.makedirs(f"pictures/{y[number]}", exist_ok=True)
        picture = pillow.fromarray((X[number] * 15).reshape(8, 8).astype(np.uint8))
        picture.save(f"pictures/{y[number]}/{number}.{'png' if number % 2 else 'jpg'}")
    figures = call(
        "fit pictures --model ModularAutoencoder --set n_modules=2 --set n_components=8 -o p.polyfold --json"
    )
    assert figures["model"] == "ModularAutoencoder"
    assert call("transform p.polyfold pictures --reconstruct -o back --json")["rows"] == 40
    assert len(os.listdir("back")) == 40
    figures = call("evaluate p.polyfold pictures --target folder --json")
    assert figures["vote accuracy"] > 0.2
    pillow.new("L", (9, 9)).save("pictures/odd.png")
    refused("transform p.polyfold pictures -o z.npy", "pass --size")
    call("transform p.polyfold pictures --size 8x8 -o z.npy")


def test_columns_of_arrays_are_picked_by_number(call, refused):
    call("fit :digits.npy --columns 0-31,40 --set n_modules=2 --set n_components=2 -o few.polyfold")
    assert pf.load("few.polyfold").n_features_in_ == 33
    call("transform few.polyfold :digits.npy --columns 0-31,40 -o z.npy")
    refused("transform few.polyfold :digits.npy -o y.npy", "the model was fitted to 33")


def test_missing_values_of_arrays_are_filled_in(call, refused, shared):
    X = np.load(shared / "digits.npy")
    X[3, 20] = np.nan
    np.save("gaps.npy", X)
    call("fit gaps.npy --set n_modules=2 --set n_components=2 -o gaps.polyfold")
    call("transform gaps.polyfold gaps.npy -o z.npy")
    assert np.isfinite(np.load("z.npy")).all()
    refused("fit gaps.npy --prepare none -o none.polyfold", "NaN")


@pytest.mark.parametrize("data", ["digits.npy", "iris.csv"])
def test_streamed_models_and_blocks_agree_with_whole_ones(call, refused, shared, monkeypatch, data):
    monkeypatch.setattr("polyfold.cli._formats.BLOCK_BYTES", 1)
    monkeypatch.setattr("polyfold.cli._formats.MIN_ROWS", 37)
    options = "--model ModularAutoencoder --set n_modules=2 --set n_components=2 --prepare"
    extra = ["--columns", "sepal length (cm),sepal width (cm)"] if data == "iris.csv" else []
    for name, flags in (("whole", "none --no-stream"), ("parts", "none --stream")):
        call(f"fit :{data} {options} {flags} -o {name}.polyfold", *extra)
        call(f"transform {name}.polyfold :{data} -o {name}.npy")
    np.testing.assert_allclose(
        np.load("parts.npy"), np.load("whole.npy"), atol=1e-8 * np.abs(np.load("whole.npy")).max()
    )
    refused(f"fit :{data} --stream --model NonRedundantEmbedding -o n.polyfold", "partial_fit", *extra)


def test_a_streamed_table_is_prepared_by_its_first_block(call, monkeypatch):
    monkeypatch.setattr("polyfold.cli._formats.BLOCK_BYTES", 1)
    monkeypatch.setattr("polyfold.cli._formats.MIN_ROWS", 60)
    call("fit :iris.csv --stream --target species --set n_modules=2 --set n_components=2 -o s.polyfold")
    assert call("transform s.polyfold :iris.csv -o z.npy --json")["rows"] == 150


def test_neighbours_are_found(call, refused, shared):
    figures = call("search :digits.polyfold :digits.npy -k 4 -o found.npz --json")
    assert (figures["rows"], figures["neighbors"]) == (120, 4)
    found = np.load("found.npz")
    assert (found["indices"] != np.arange(120)[:, None]).all()
    assert (np.diff(found["distances"], axis=1) >= 0).all()
    np.save("few.npy", np.load(shared / "digits.npy")[:3])
    call("search :digits.polyfold :digits.npy --queries few.npy -k 2 --modules 2 --expand 10 -o few.csv")
    assert list(pd.read_csv("few.csv")["neighbor0"]) == [0, 1, 2]
    refused("search :digits.polyfold :digits.npy -k 120 -o many.npy", "--neighbors must be <= 119")


def test_clusters_are_found_and_kept(call, refused):
    figures = call("cluster :iris.csv --drop species,site -n 3 --save c.polyfold -o groups.csv --json")
    assert figures["clusters"] == 3
    call("cluster :iris.csv --with c.polyfold -o again.npy")
    assert len(np.load("again.npy")) == 150
    figures = call("evaluate c.polyfold :iris.csv --target species --json")
    assert figures["nmi"] > 0.3
    refused("cluster :iris.csv --with :iris.polyfold -o x.csv", "must be a clusterer")


def test_the_number_of_clusters_and_the_stability_of_levels_are_printed(call):
    np.save("two.npy", np.concatenate([np.random.RandomState(0).randn(30, 2), [[99, 99]]]))
    quick = "--set network__n_clusterings=20"
    text = call(f"cluster two.npy {quick} --save c.polyfold -o g.npy")
    model = pf.load("c.polyfold")
    stability = {str(number): round(score, 3) for number, score in model.level_scores_.items() if np.isfinite(score)}
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert lines["clusters"].strip() == str(model.n_clusters_)
    assert all(f"{number}={score:.4g}" in lines["stability"] for number, score in stability.items())
    assert call(f"cluster two.npy {quick} -o g.npy --json")["stability of levels"] == stability
    for given in ("-n 2", "--with c.polyfold"):
        text = call(f"cluster two.npy {given} -o g.npy")
        assert "clusters" in text
        assert "stability" not in text


def test_a_cluster_of_one_row_is_named_as_such(call):
    frame = pd.DataFrame(np.random.RandomState(0).randn(40, 2), columns=["a", "b"])
    frame.to_csv("all.csv", index=False)
    call("cluster all.csv -n 2 --save c.polyfold -o g.csv")
    labels = pd.read_csv("g.csv")["cluster"]
    frame[(labels == 0) | (labels[labels == 1].index[0] == frame.index)].to_csv("some.csv", index=False)
    figures = call("cluster some.csv --with c.polyfold --names -o g.csv --json")
    assert "cluster 1 (1 row)" in figures
    assert f"cluster 0 ({(labels == 0).sum()} rows)" in figures


QUICK = "--set network__n_clusterings=20 --levels"


def test_levels_are_nested_columns_after_the_clusters(call):
    figures = call(f"cluster :iris.csv --drop species,site {QUICK} --id wild --save c.polyfold -o g.csv --json")
    groups = pd.read_csv("g.csv")
    levels = [f"clusters_{number}" for number in figures["stability of levels"]]
    assert list(groups.columns) == ["wild", "cluster", *levels]
    assert "wild" not in pf.load("c.polyfold").feature_names_in_
    assert [groups[name].nunique() for name in levels] == [int(name.removeprefix("clusters_")) for name in levels]
    assert len(levels) > 1
    for coarse, fine in itertools.pairwise(levels):
        assert len(groups[[coarse, fine]].drop_duplicates()) == groups[fine].nunique()
    assert any(groups["cluster"].equals(groups[name]) for name in levels)
    call(f"cluster :iris.csv --drop species,site {QUICK} -o g.csv")
    assert list(pd.read_csv("g.csv")["row"]) == list(range(150))


def test_a_saved_clusterer_predicts_its_levels(call, refused, shared):
    call(f"cluster :digits.npy {QUICK} --save c.polyfold -o g.npz")
    call("cluster :digits.npy --with c.polyfold --levels -o again.npz")
    model, X = pf.load("c.polyfold"), np.load(shared / "digits.npy")
    found = np.load("again.npz")
    numbers = [model.n_clusters_, *model.level_scores_]
    assert list(found["names"]) == ["cluster", *(f"clusters_{number}" for number in model.level_scores_)]
    expected = np.stack([model.predict(X, n_clusters=number) for number in numbers], axis=1)
    np.testing.assert_array_equal(found["X"], expected)
    pf.save(pf.Compressed(model, random_state=0).fit(X), "small.polyfold")
    refused("cluster :digits.npy --with small.polyfold --levels -o x.npz", "--levels needs a clusterer with levels")


def test_clusters_are_those_of_a_kernel(call, refused, shared):
    X = np.load(shared / "digits.npy")
    np.save("unit.npy", X / np.linalg.norm(X, axis=1, keepdims=True))
    call("cluster unit.npy --kernel auto -n 5 --save c.polyfold -o g.npy")
    assert isinstance(pf.load("c.polyfold").kernel_, pf.kernels.DiffusionMaps)
    call("cluster :digits.npy --kernel laplacian_eigenmaps -n 5 --levels --save c.polyfold -o g.npy")
    assert pf.load("c.polyfold").kernel_ == "laplacian_eigenmaps"
    np.testing.assert_array_equal(np.load("g.npy")[:, 0], pf.load("c.polyfold").labels_)
    refused("cluster :digits.npy --kernel wings -o x.npy", "kernel must be one of 'rbf', ")
    refused("cluster :digits.npy --with c.polyfold --kernel isomap -o x.npy", "--with applies a saved clusterer")


def test_a_model_is_evaluated(call):
    text = call("evaluate :digits.polyfold :digits.npz --target y")
    assert "precision at 10" in text
    figures = call("evaluate :digits.polyfold :digits.npz --target :y.npy --json")
    assert 0 < figures["precision at 10"] <= 1


def test_maps_and_pages_are_written(call):
    assert call("map :digits.npz -o map.npy --json")["rows"] == 120
    assert call("report :iris.polyfold :iris.csv --target species -o r.html --json")["bytes"] > 1000


def test_a_report_shows_numbers_and_dates_that_a_file_writes_as_text(call):
    from tests.report.test_explore import Page

    rng = np.random.RandomState(0)
    income, days = rng.randint(1000, 90_000, 60), rng.permutation(60)
    dates = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")).dt.strftime("%d.%m.%Y")
    dates[0] = None
    table = {
        "income": [f"${value:,}.00" for value in income],
        "since": dates,
        "age": rng.randn(60),
        "zip": ["01007", "01036"] * 30,
    }
    pd.DataFrame({**table, "name": [f"N{i}x" for i in range(60)]}).to_csv("t.csv", index=False)
    call("cluster t.csv -n 2 --save c.polyfold -o g.csv")
    call("report c.polyfold t.csv -o r.html")
    (one,) = Page(Path("r.html")).chapters
    columns = {column["name"]: column for column in one["columns"]}
    assert {name: column["kind"] for name, column in columns.items() if name != "cluster"} == {
        "income": "number",
        "since": "number",
        "age": "number",
        "zip": "class",
        "name": "text",
    }
    assert columns["zip"]["classes"] == ["01007", "01036"]
    assert columns["income"]["values"] == income.tolist()
    assert columns["since"]["values"] == [None, *(19723.0 + days[1:])]


def test_a_report_has_names_texts_and_the_title_of_the_file(call, refused):
    from tests.report.test_explore import Page

    words = np.array(["card lost", "card arrived", "refund late", "refund shop"] * 10)
    rng = np.random.RandomState(0)
    pd.DataFrame(
        {"a": np.tile([0, 0, 9, 9], 10) + rng.standard_normal(40), "b": rng.standard_normal(40), "question": words}
    ).to_csv("questions.csv", index=False)
    call("cluster questions.csv --drop question --kernel laplacian_eigenmaps -n 2 --save q.polyfold -o g.csv")
    call("report q.polyfold questions.csv --texts question -o r.html")
    page = Page(Path("r.html"))
    (one,) = page.chapters
    assert page.title == "questions"
    assert one["texts"] == words.tolist()
    names = one["columns"][0]["names"]
    assert sorted("refund" in name for name in names) == sorted("card" in name for name in names) == [False, True]
    refused("report q.polyfold questions.csv --texts answer -o x.html", "answer")


def test_a_page_calls_the_target_by_its_name(call, monkeypatch):
    names = []

    def explore(*args, y, path, **kwargs):
        names.append(y.name)
        path.write_text("")

    monkeypatch.setattr("polyfold.report.explore", explore)
    call("report :iris.polyfold :iris.csv --target species -o r.html")
    call("report :digits.polyfold :digits.npy --target :y.npy -o r.html")
    call("report :digits.polyfold :digits.npz --target y -o r.html")
    assert names == ["species", "y", "y"]


def test_what_is_installed_is_told(call):
    about = call("info --json")
    assert "ModularKernelPCA" in about["models"]
    groups = {"all", "bench", "docs", "test"}  # of other extras
    assert set(about["extras"]) == set(metadata("polyfold").get_all("Provides-Extra")) - groups


def test_every_command_helps_with_examples(call):
    for name in commands.commands:
        text = call(f"{name} --help")
        assert name == "demo" or f"polyfold {name} " in text
    assert "polyfold fit" in call("--help")


def test_without_a_size_no_more_coordinates_than_columns_come_out(call):
    def size(text):
        figures = call(f"fit {text} -o m.polyfold --json")
        return figures["modules"], figures["coordinates"]

    assert size(":digits.npy") == (15, 60)
    assert size(":digits.npy --columns 20-27") == (4, 8)
    assert size(":iris.csv --columns species,site") == (2, 4)
    assert size(":digits.npy --set n_modules=3") == (3, 60)
    about = call("info m.polyfold --json")
    assert (about["columns"], about["coordinates"]) == (64, 60)


def test_a_search_is_exact(call, shared):
    call("search :digits.polyfold :digits.npy -k 4 -o found.npz")
    Z = pf.load(shared / "digits.polyfold").transform(np.load(shared / "digits.npy"))
    distances = np.linalg.norm(Z[:, None] - Z, axis=2)
    expected = np.sort(distances + np.diag(np.full(len(Z), np.inf)), axis=1)[:, :4] / np.sqrt(3)
    np.testing.assert_allclose(np.load("found.npz")["distances"], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_the_commands_of_the_guide_run_as_they_stand(call):
    page = (Path(__file__).parents[2] / "docs/guide/command-line.md").read_text()
    blocks = {
        kind: re.findall(rf"^ *```{kind}\n(.*?)^ *```", page, re.DOTALL | re.MULTILINE)
        for kind in ("sh", "text", "toml")
    }
    load_wine(as_frame=True).frame.to_csv("wine.csv", index=False)
    commands = [line for block in blocks["sh"] for line in block.splitlines() if line.startswith("polyfold ")]
    printed = [call(line.removeprefix("polyfold ")) for line in commands]
    assert len(printed) == 6
    for line in blocks["text"][0].splitlines():
        assert line.strip() in printed[0]
    Path("model.toml").write_text(blocks["toml"][0])
    call("fit wine.csv --config model.toml -o vote.polyfold")
    assert len(pf.load("vote.polyfold")[-1].estimators_) == 15
