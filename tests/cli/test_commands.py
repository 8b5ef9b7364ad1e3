"""The command line from file to file, in this process; a few commands also as processes of their own."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

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
    refused("transform :iris.polyfold narrow.csv -o z3.csv", "none called", *_narrow(frame))


def _narrow(frame):
    frame[["site"]].to_csv("narrow.csv", index=False)
    return ()


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
    assert figures["accuracy of 5 neighbours"] > 0.2
    pillow.new("L", (9, 9)).save("pictures/odd.png")
    refused("transform p.polyfold pictures -o z.npy", "pass --size")
    call("transform p.polyfold pictures --size 8x8 -o z.npy")


def test_columns_of_arrays_are_picked_by_number(call, refused):
    call("fit :digits.npy --columns 0-31,40 --set n_modules=2 --set n_components=2 -o few.polyfold")
    assert pf.load("few.polyfold").n_features_in_ == 33
    call("transform few.polyfold :digits.npy --columns 0-31,40 -o z.npy")
    refused("transform few.polyfold :digits.npy -o y.npy", "33 columns")


def test_missing_values_of_arrays_are_filled_in(call, refused, shared):
    X = np.load(shared / "digits.npy")
    X[3, 20] = np.nan
    np.save("gaps.npy", X)
    call("fit gaps.npy --set n_modules=2 --set n_components=2 -o gaps.polyfold")
    call("transform gaps.polyfold gaps.npy -o z.npy")
    assert np.isfinite(np.load("z.npy")).all()
    refused("fit gaps.npy --prepare none -o none.polyfold", "NaN")


def test_parameters_come_from_the_command_line_and_a_file(call):
    with open("model.toml", "w") as file:
        file.write('model = "KernelEmbedding"\n[parameters]\nn_components = 3\nkernel = "Gaussian(gamma=0.5)"\n')
    call("fit :digits.npy --config model.toml --set n_components=4 -o m.polyfold")
    model = pf.load("m.polyfold")
    assert (model.n_components, model.kernel.gamma, model.random_state) == (4, 0.5, 0)


def test_classifiers_learn_from_targets(call, refused):
    words = ["--set", "estimator=sklearn.neighbors.NearestCentroid()", "--set", "representation__n_modules=4"]
    call("fit :digits.npz --target y --model ModularClassifier -o c.polyfold", *words)
    figures = call("evaluate c.polyfold :digits.npz --target y --json")
    assert figures["accuracy"] > 0.7
    refused("fit :digits.npz --model ModularClassifier -o d.polyfold", "needs --target")
    refused("evaluate c.polyfold :digits.npz", "--target is needed")


@pytest.mark.parametrize("data", ["digits.npy", "iris.csv"])
def test_streamed_models_and_blocks_agree_with_whole_ones(call, refused, shared, monkeypatch, data):
    monkeypatch.setattr("polyfold.cli._data.BLOCK", 1)
    monkeypatch.setattr("polyfold.cli._data.FEWEST", 37)
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
    monkeypatch.setattr("polyfold.cli._data.BLOCK", 1)
    monkeypatch.setattr("polyfold.cli._data.FEWEST", 60)
    call("fit :iris.csv --stream --target species --set n_modules=2 --set n_components=2 -o s.polyfold")
    assert call("transform s.polyfold :iris.csv -o z.npy --json")["rows"] == 150


def test_neighbours_are_found(call, refused, shared):
    figures = call("search :digits.polyfold :digits.npy -k 4 -o found.npz --json")
    assert (figures["rows"], figures["neighbors"]) == (120, 4)
    found = np.load("found.npz")
    assert (found["indices"] != np.arange(120)[:, None]).all()
    assert (np.diff(found["distances"], axis=1) >= 0).all()
    call("search :digits.polyfold :digits.npy -k 4 --graph -o graph.npz")
    graph = sp.load_npz("graph.npz")
    assert graph.shape == (120, 120)
    assert graph.nnz == 480
    np.save("few.npy", np.load(shared / "digits.npy")[:3])
    call("search :digits.polyfold :digits.npy --queries few.npy -k 2 --modules 2 --expand 10 -o few.csv")
    assert list(pd.read_csv("few.csv")["neighbor0"]) == [0, 1, 2]
    refused("search :digits.polyfold :digits.npy -k 120 -o many.npy", "--neighbors must be <= 119")


def test_clusters_are_found_and_kept(call, refused):
    words = "--set n_init=2"
    figures = call(f"cluster :iris.csv --drop species,site -n 3 {words} --save c.polyfold -o groups.csv --json")
    assert figures["clusters"] == 3
    call("cluster :iris.csv --with c.polyfold -o again.npy")
    assert len(np.load("again.npy")) == 150
    figures = call("evaluate c.polyfold :iris.csv --target species --json")
    assert figures["nmi"] > 0.3
    refused("cluster :iris.csv --with :iris.polyfold -o x.csv", "must be a clusterer")
    refused("cluster :iris.csv -n many -o x.csv", "--clusters must be")


def test_a_model_is_evaluated(call):
    text = call("evaluate :digits.polyfold :digits.npz --target y")
    assert "precision at 10" in text
    figures = call("evaluate :digits.polyfold :digits.npz --target :y.npy --json")
    assert 0 < figures["precision at 10"] <= 1


def test_maps_and_pages_are_written(call):
    assert call("map :digits.npz -o map.npy --json")["rows"] == 120
    assert call("report :iris.polyfold :iris.csv --target species -o r.html --json")["bytes"] > 1000


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
    assert set(about["extras"]) >= {"faiss", "onnx", "torch"}


ERRORS = [
    ("fit nothing.csv -o m.polyfold", "there is none"),
    ("fit :iris.polyfold -o m.polyfold", "must be a folder of images or of parquet files, or end in"),
    ("fit :y.npy -o m.polyfold", "must hold a matrix"),
    ("fit :digits.npz --array q -o m.polyfold", "which array"),
    ("fit :digits.npy -o nowhere/m.polyfold", "a folder that is there"),
    ("fit :digits.npy --set n_modules -o m.polyfold", "name=value"),
    ("fit :digits.npy --set n_modules=0 -o m.polyfold", "n_modules must be an integer >= 1"),
    ("fit :digits.npy --set wings=2 -o m.polyfold", "no parameter 'wings' for --set to set; it has diversity, "),
    ("fit :digits.npy --set n_moduls=2 -o m.polyfold", "no parameter 'n_moduls' for --set to set; it has n_modules."),
    ("fit :digits.npy --set kernel__wings=2 -o m.polyfold", "needs an object as kernel, got 'rbf'"),
    ("fit :digits.npy --set kernel=open('x') -o m.polyfold", "must be a class of polyfold"),
    ("fit :digits.npy --set kernel=Gaussian(wings=2) -o m.polyfold", "must name parameters of Gaussian"),
    ("fit :digits.npy --model Wings -o m.polyfold", "must be a class of polyfold (BaggingAutoencoder, "),
    ("fit :digits.npy --model KernelEmbeding -o m.polyfold", "must be a class of polyfold (KernelEmbedding, "),
    ("fit :digits.npy --model Compressed -o m.polyfold", "needs estimator"),
    ("fit :digits.npy --target wings -o m.polyfold", "--target must be"),
    ("fit :iris.csv --columns wings -o m.polyfold", "must name columns"),
    ("fit :iris.csv --prepare none -o m.polyfold", "must be numbers"),
    ("fit :digits.npy --config nothing.toml -o m.polyfold", "nothing.toml"),
    ("fit :digits.npy", "Missing option"),
    ("wings", "No such command"),
    ("transform nothing.polyfold :digits.npy -o z.npy", "nothing.polyfold must be a file, but there is none"),
    ("transform :digits.npy :digits.npy -o z.npy", "must be a file written by polyfold.save"),
    ("transform :digits.polyfold :digits.npy -o z.txt", "--output must end in"),
    ("transform :digits.polyfold :digits.npy --reconstruct -o z.npy", "must have inverse_transform"),
    ("transform :digits.polyfold :iris.csv -o z.npy", "must have the 64 columns"),
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
    refused(f"fit bad.{kind} -o m.polyfold", "must be")


def test_every_command_helps_with_examples(call):
    for name in commands.commands:
        text = call(f"{name} --help")
        assert name == "demo" or f"polyfold {name} " in text
    assert "polyfold fit" in call("--help")


def test_an_interrupt_leaves_no_file(call, shared, monkeypatch):
    before = set(os.listdir())

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for place, text in (
        ("polyfold.ModularKernelPCA.fit", "fit :digits.npy -o m.polyfold"),
        ("polyfold.ModularKernelPCA.transform", "transform :digits.polyfold :digits.npy -o z.csv"),
        ("os.fsync", "fit :digits.npy -o m.polyfold --set n_modules=2 --set n_components=2"),
        ("polyfold.ModularKernelPCA.transform", "transform :digits.polyfold :digits.npy -o z.zarr"),
        ("pathlib.Path.replace", "transform :digits.polyfold :digits.npy -o z.csv"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, interrupt)
            assert "interrupted" in call(text, code=130)
        assert set(os.listdir()) == before


def process(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "polyfold", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_a_process_is_silent_in_a_pipe_and_answers_with_exit_codes(shared, tmp_path):
    good = process("transform", shared / "digits.polyfold", shared / "digits.npy", "-o", tmp_path / "z.npy")
    bad = process("transform", shared / "digits.polyfold", tmp_path / "nothing.npy", "-o", tmp_path / "y.npy")
    assert good.communicate() == ("", "")
    out, error = bad.communicate()
    assert (good.returncode, bad.returncode, out) == (0, 2, "")
    assert error.startswith("error: ")
    assert os.listdir(tmp_path) == ["z.npy"]


def test_ctrl_c_in_a_process_leaves_no_file(tmp_path):
    np.save(tmp_path / "large.npy", np.random.RandomState(0).standard_normal((100_000, 20)))  # minutes of work
    options = ["--model", "MultilayerBootstrapNetwork", "--set", "n_clusterings=400"]
    # A test that runs in the background would pass on that interrupts are ignored.
    heed = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    running = process("fit", tmp_path / "large.npy", *options, "-o", tmp_path / "m.polyfold", **heed)
    time.sleep(5)
    running.send_signal(signal.SIGINT)
    try:
        running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode in (130, -signal.SIGINT)  # until our own code runs, Python ends by the signal
    assert os.listdir(tmp_path) == ["large.npy"]


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


def test_a_search_is_exact_and_the_same_in_parts(call, shared, monkeypatch):
    call("search :digits.polyfold :digits.npy -k 4 -o whole.npz")
    monkeypatch.setattr("polyfold.cli._searching.QUERIES", 50)
    call("search :digits.polyfold :digits.npy -k 4 -o parts.npz")
    Z = pf.load(shared / "digits.polyfold").transform(np.load(shared / "digits.npy"))
    distances = np.linalg.norm(Z[:, None] - Z, axis=2)
    expected = np.sort(distances + np.diag(np.full(len(Z), np.inf)), axis=1)[:, :4] / np.sqrt(3)
    for name in ("whole.npz", "parts.npz"):
        np.testing.assert_allclose(np.load(name)["distances"], expected, rtol=1e-4, atol=1e-6)
