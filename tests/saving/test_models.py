"""What `save` writes and what `load` refuses."""

import hashlib
import json
import os
import pickle
import time
import tracemalloc
import warnings
import zlib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.neighbors import BallTree, KDTree
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polyfold as pf
from polyfold.exceptions import ModelFileError
from polyfold.saving import _container, describe
from polyfold.saving._container import MAGIC, pack
from tests.saving.corruption import corruptions
from tests.saving.forging import Forgery

FILES = Path(__file__).parent / "files"


@pytest.fixture
def model(blobs):
    return pf.ModularKernelPCA(2, 2, random_state=0).fit(blobs)


@pytest.fixture
def path(model, tmp_path):
    pf.save(model, tmp_path / "model.polyfold")
    return tmp_path / "model.polyfold"


def packed(table, about):
    return b"".join(pack(table, [], about))


def assert_refused(path, match, **options):
    """Assert one sentence that names the file."""
    with pytest.raises(ModelFileError, match=match) as caught:
        pf.load(path, **options)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_a_pipeline_is_a_model(blobs, tmp_path):
    model = make_pipeline(StandardScaler(), pf.KernelEmbedding(2, random_state=0)).fit(blobs)
    pf.save(model, tmp_path / "p")
    np.testing.assert_array_equal(pf.load(tmp_path / "p").transform(blobs), model.transform(blobs))


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.lil_array])
def test_models_of_sparse_rows_are_kept(blobs, path, form):
    X = form(blobs)
    models = (pf.KernelEmbedding(kernel="cosine", random_state=0), pf.KernelEmbedding(kernel="isomap"))
    for model in (model.fit(X) for model in models):
        pf.save(model, path)
        np.testing.assert_array_equal(pf.load(path).transform(X), model.transform(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_students_that_are_networks_are_kept(blobs, path, solver):
    student = MLPRegressor(hidden_layer_sizes=(4,), solver=solver, max_iter=5, random_state=0)
    model = pf.Compressed(pf.KernelEmbedding(2, random_state=0), student, random_state=0).fit(blobs)
    pf.save(model, path)
    np.testing.assert_array_equal(pf.load(path).transform(blobs), model.transform(blobs))


def test_a_loaded_model_goes_on_learning(model, path, blobs):
    more = blobs[:20] + 0.5
    loaded = pf.load(path).partial_fit(more)
    np.testing.assert_array_equal(loaded.transform(blobs), model.partial_fit(more).transform(blobs))


@pytest.mark.torch
def test_settings_after_a_fit_belong_to_the_next_one(blobs, tmp_path):
    training = pf.networks.Training(max_iter=2)
    model = pf.networks.ModularAutoencoderNetwork(2, 2, training=training, random_state=0).fit(blobs)
    before = model.transform(blobs)
    pf.save(model.set_params(n_components=3, architecture=pf.networks.MLP((7,))), tmp_path / "m")
    np.testing.assert_array_equal(pf.load(tmp_path / "m").transform(blobs), before)


def test_what_is_no_estimator_is_not_saved(tmp_path):
    for thing in ({"a": 1}, pf.ModularKernelPCA, None):
        with pytest.raises(TypeError, match="model must be an estimator"):
            pf.save(thing, tmp_path / "m")
    with pytest.raises(TypeError, match="another process can import, got .*<lambda>"):
        pf.save(pf.KernelEmbedding(kernel=lambda X, Y: X @ Y.T), tmp_path / "m")
    with pytest.raises(TypeError, match="model must hold arrays"):
        pf.save(pf.KernelEmbedding(kernel={(1, 2): 3}), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_save_leaves_the_old_model(path, model, monkeypatch):
    before = path.read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pf.save(model, path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_is_no_file_to_save_to(model, tmp_path):
    with pytest.raises(IsADirectoryError, match="must be a file, got the folder"):
        pf.save(model, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_head_says_who_wrote_a_file(path):
    about = describe(path)
    assert about["class"] == "ModularKernelPCA"
    assert about["polyfold"] == version("polyfold")
    assert path.read_bytes().startswith(b"polyfold model\n{")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "an empty file"),
        (pickle.dumps(3), "a pickle"),
        (b"PK\x03\x04 something", "archive of another kind"),
        (b"x,y\n1,2\n", "something else"),
        (MAGIC, "cut short or altered"),
    ],
)
def test_other_files_are_refused(tmp_path, content, match):
    (tmp_path / "f").write_bytes(content)
    assert_refused(tmp_path / "f", match)


def test_folders_and_absent_files_are_named(tmp_path):
    assert_refused(tmp_path, "got a folder, pipe or device")
    assert_refused(os.devnull, "got a folder, pipe or device")
    with pytest.raises(FileNotFoundError, match="nothing"):
        pf.load(tmp_path / "nothing")


def test_every_damage_is_refused_with_a_sentence(path):
    content = path.read_bytes()
    tried = 0
    for _, damaged in corruptions(content, 160):
        path.write_bytes(damaged)
        assert_refused(path, "must be")
        tried += 1
    assert tried > 150


@pytest.mark.parametrize("written_by", [{"format": 3}, {"polyfold": "99.0"}, {"format": 3, "polyfold": "99.1.dev3"}])
def test_newer_files_say_how_to_read_them(path, written_by):
    head, table, _ = _container.unpack(path.read_bytes(), "")
    path.write_bytes(packed(bytes(table), {**head, **written_by}))
    assert "; install polyfold " in assert_refused(path, "or older, got one of polyfold")


def test_files_of_development_versions_are_refused(path):
    path.write_bytes(packed(b"", {"format": 1}))
    assert_refused(path, "must have format 2, got format 1 .*; fit and save again")


@pytest.mark.parametrize("head", [{"format": "one"}, {"polyfold": 3}, {"polyfold": None}])
def test_a_head_that_says_nothing_is_refused(path, head):
    path.write_bytes(packed(b"", head))
    assert_refused(path, "must have a head with format and version")


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999", "0.5"])
@pytest.mark.parametrize("key", ["format", "written with"])
def test_numbers_that_no_head_holds_are_refused(path, key, number):
    written = packed(b"", {key: "here"})
    body = written[: -_container.DIGEST].replace(b'"here"', number.encode())
    path.write_bytes(body + hashlib.sha256(body).digest())
    assert_refused(path, f"must have a head with format and version, got one that cannot be read .*{number}")


class Evil:
    """Something that runs when it is made."""

    def __init__(self, *args):
        raise AssertionError("executed")

    __setstate__ = __init__


@pytest.mark.parametrize(
    "name",
    [
        f"{__name__}.Evil",
        "os.system",
        "subprocess.Popen",
        "builtins.eval",
        "polyfold._validation.import_extra",
        "polyfold.bootstrap._layer_checkpoint.LayerCheckpoint",
        "polyfold.estimators._embedding.np",
        "polyfold.demo.run_demo",
    ],
)
def test_forged_files_make_nothing(tmp_path, name):
    for kind, given in (("object", name), ("call", f"{name}()"), ("name", name)):
        forged = Forgery([given], [["tuple"], None, [kind, 0, *([0, 1, None] if kind != "name" else [])]], bytearray())
        (tmp_path / "forged").write_bytes(forged.packed())
        message = assert_refused(tmp_path / "forged", f"names types that are not allowed: {name}")
        assert f"trusted=['{name}']" in message


@pytest.mark.parametrize(
    ("names", "lines", "match"),
    [
        ([], [], "describes 0 bytes"),
        ([], [["list"]], "a list instead of a model"),
        (["polyfold.estimators._embedding.KernelEmbedding"], [["name", 0]], "instead of a model"),
        ([], [["list", 0]], "0 is not the position"),
        ([], [None, ["list", 1]], "1 is not the position"),
        ([], [None, ["list", True]], "True is not the position"),
        ([], [None, ["list", -1]], "-1 is not the position"),
        ([], [["name", 0]], "not the number of a name"),
        ([], [["nothing"]], "'nothing' is not a kind"),
        ([], [["array", "<f8", [2**20], "C"]], "needs 8388608 bytes, 0 are left"),
        ([], [["array", "<f8", [0, -1], "C"]], "is not a shape"),
        ([], [["array", "<U0", [2**39], "C"]], "not a dtype"),
        ([], [["array", "|O", [1], "C"]], "not a dtype"),
        ([], [["array", "(3,)f8", [0], "C"]], "not a dtype"),
        ([], [["dtype", "V8"]], "not a dtype"),
        ([], [["tuple"], ["set", 0]], "a tuple is not a key"),
        ([], [2**61 - 1, ["set", 0]], "the key 2305843009213693951 is too large"),
        ([], [[[[[[]]]] * 20] * 20], "nested lists"),
        (["numpy.void"], [10**10, ["tuple", 0], None, ["object", 0, 1, 2, None]], "not a class of objects"),
        (["numpy.float64"], [["tuple"], None, ["call", 0, 0, 1, None]], "numpy.float64 is not to be called"),
    ],
)
def test_impossible_tables_are_refused(tmp_path, names, lines, match):
    (tmp_path / "f").write_bytes(Forgery(names, lines, bytearray()).packed())
    assert_refused(tmp_path / "f", match)


def test_shared_parts_stay_shared(tmp_path):
    kernel = pf.kernels.Gaussian()
    model = make_pipeline(pf.KernelEmbedding(kernel=kernel), pf.KernelEmbedding(kernel=kernel))
    pf.save(model, tmp_path / "m")
    first, second = (step.kernel for _, step in pf.load(tmp_path / "m").steps)
    assert first is second
    assert first is not kernel


def test_lists_of_lists_of_lists_are_refused_at_once(path):
    """A list that names the list before it twice, 60 times, would be walked through for ever."""
    path.write_bytes(Forgery([], [["list"], *(["list", i, i] for i in range(60))], bytearray()).packed())
    start = time.perf_counter()
    assert_refused(path, "contain others too many times")
    assert time.perf_counter() - start < 1


def test_an_array_that_is_named_often_is_one_array(model, path):
    model.many = [np.zeros(10**5)] * 10
    pf.save(model, path)
    loaded = pf.load(path)
    assert all(array is loaded.many[0] for array in loaded.many)


SCALER = "sklearn.preprocessing._data.StandardScaler"


def scaler_with(lines, content=b"", names=()):
    """A scaler whose state holds the part of the last line."""
    n = len(lines)
    state = [["tuple"], "x", ["dict", n + 1, n - 1], ["object", 0, n, n + 2, None]]
    return Forgery([SCALER, *names], [*lines, *state], bytearray(content))


FLOODS = {  # a few kB on disk that ask for gigabytes, or for minutes
    "list": ([["array", "|u1", [3 * 10**6], "C"], ["list", *[0] * 600]], bytes(3 * 10**6)),
    "masked": ([["array", "|u1", [3 * 10**6], "C"], ["list", *[0] * 600], False, ["masked", 1, 2]], bytes(3 * 10**6)),
    "texts": (["x" * 10**6, ["list", *[0] * 600]], b""),
    "states": ([["tuple"], "x", ["dict", 1, 0], *[["object", 0, 0, 2, None]] * 2], b""),
    "items": (
        [["tuple"], None, "x", ["dict", 2, 0], *[["object", 1, 0, 1, 3]] * 2],
        b"",
        ["collections.OrderedDict"],
    ),
    "trees": ([["array", "<f8", [1000, 3], "C"], *[["KDTree", 0, 40, "euclidean", None]] * 4], bytes(24000)),
    "indices": (
        [
            ["array", "<f4", [10**5, 3], "C"],
            ["tuple"],
            None,
            "rows",
            "links",
            "frame",
            *(line for i in range(4) for line in (["dict", 3, 0, 4, 2, 5, 2], ["object", 1, 1, 6 + 2 * i, None])),
        ],
        bytes(12 * 10**5),
        ["polyfold.neighbors._engines._FaissFlat"],
    ),
    "rows without entries": (
        [
            ["array", "<f8", [2**24, 0, 0], "C"],
            ["array", "<i8", [0], "C"],
            ["tuple"],
            None,
            *("modules", "engine", "probes", "budget", "_graphs", "faiss", ["dict"]),
            ["dict", 4, 0, 5, 9, 6, 1, 7, 3, 8, 10],
            ["object", 1, 2, 11, None],
        ],
        b"",
        ["polyfold.ensembles._module_search.ModuleSearch"],
    ),
    "categories without entries": ([["array", "<f8", [2**24, 0], "C"], ["list", *[0] * 600]], b""),
    "matrices": (
        [
            ["array", "<f8", [1000], "C"],
            ["array", "<i8", [1000], "C"],
            ["array", "<i8", [2], "C"],
            *[["csr_array", [1, 1], 0, 1, 2]] * 4,
        ],
        bytes(16008) + (1000).to_bytes(8, "little"),
    ),
}


@pytest.mark.parametrize("name", FLOODS)
def test_parts_that_multiply_are_refused_before_they_are_made(name, tmp_path):
    if name == "indices":
        pytest.importorskip("faiss")
    (tmp_path / "f").write_bytes(scaler_with(*FLOODS[name]).packed())
    tracemalloc.start()
    start = time.process_time()
    try:
        assert_refused(tmp_path / "f", "too many times|have one state|copy the same arrays")
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()
    assert time.process_time() - start < 2


@pytest.mark.parametrize("key", [np.complex128(1j), np.longdouble(1), np.datetime64(1, "s"), np.bytes_(b"x"), b"x"])
@pytest.mark.parametrize("made", [lambda key: {key: 1}, lambda key: {key}], ids=["dict", "set"])
def test_keys_that_can_collide_are_neither_saved_nor_loaded(model, tmp_path, key, made):
    """60,000 complex numbers with one hash would take minutes."""
    model.keys = made(key)
    with pytest.raises(TypeError, match="is a key; keys must be numbers or texts"):
        pf.save(model, tmp_path / "m")
    content = np.asarray(key)
    dtype = content.dtype.str
    for kind in (["set", 0], ["frozenset", 0], ["dict", 0, 0]):
        (tmp_path / "f").write_bytes(scaler_with([["scalar", dtype], kind], content.tobytes()).packed())
        assert_refused(tmp_path / "f", "is not a key")


def test_keys_of_models_come_back(model, tmp_path):
    keys = [1, True, None, 0.5, "a", np.int64(7), np.str_("b"), np.float64(0.25), np.bool_(False), np.int32(9)]
    model.keys, model.entries = dict.fromkeys(keys), set(keys)
    pf.save(model, tmp_path / "m")
    same = pf.load(tmp_path / "m")
    assert [*map(type, same.keys)] == [*map(type, model.keys)]
    assert same.entries == model.entries


def test_a_model_that_contains_itself_is_not_saved(model, tmp_path):
    model.itself = [model]
    with pytest.raises(TypeError, match="refers to itself"):
        pf.save(model, tmp_path / "m")


@pytest.mark.parametrize("text", ["{", "[" * 1000, r"\{\[" + '"}]', r"\u007b", '{"a": [1, {"b": []}]}'])
def test_texts_with_brackets_come_back(model, tmp_path, text):
    model.texts = {text: [text, np.array([text], dtype=object), np.array([(1,)], dtype=[(text, "<i4")])]}
    pf.save(model, tmp_path / "m")
    same = pf.load(tmp_path / "m").texts
    assert list(same) == [text]
    assert same[text][0] == same[text][1][0] == text
    assert same[text][2].dtype.names == (text,)


def test_values_of_every_kind_come_back(tmp_path):
    rng = np.random.default_rng(5)
    values = {
        "numbers": [1, -(2**40), 2.5, float("inf"), True, None, "ä\n", b"bytes", slice(1, None, 2)],
        "containers": ((1, 2), {3, 4}, frozenset({"a"}), {"k": {1: [2]}, 0.5: 1, None: 2}),
        "arrays": [np.arange(6).reshape(2, 3).T, np.zeros((0, 3)), np.array("x"), np.array([b"ab"]), np.float32(3)],
        "times": np.array(["2026-01-01", "NaT"], dtype="M8[D]"),
        "records": np.array([(1, 2.0)], dtype=np.dtype([("a", "<i4"), ("b", "<f8")], align=True)),
        "objects": np.array([["a", None], [1, 2.5]], dtype=object),
        "masked": np.ma.MaskedArray([1.0, 2.0], [True, False]),
        "types": [np.dtype("float32"), np.float64, int, np.log1p, scipy.special.expit],
        "generator": np.random.default_rng(3),
        "state": np.random.RandomState(4),
        "sparse": [form(sp.eye(3)) for form in (sp.csr_array, sp.csc_matrix, sp.coo_array)],
        "trees": [KDTree(rng.standard_normal((70, 3)), 5, "minkowski", p=3), BallTree(np.eye(3), metric="chebyshev")],
    }
    model = pf.KernelEmbedding()
    vars(model).update(values)
    pf.save(model, tmp_path / "m")
    same = pf.load(tmp_path / "m", trusted=["numpy.log1p", "scipy.special.expit"])
    assert same.numbers == values["numbers"]
    assert same.containers == values["containers"]
    for found, expected in zip(same.arrays, values["arrays"], strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert same.arrays[0].flags.f_contiguous
    assert same.arrays[0].flags.writeable
    for name in ("times", "records", "objects"):
        np.testing.assert_array_equal(getattr(same, name), values[name])
    assert same.masked.mask.tolist() == [True, False]
    assert same.types == values["types"]
    assert same.generator.integers(10**9) == np.random.default_rng(3).integers(10**9)
    assert same.state.randint(10**9) == np.random.RandomState(4).randint(10**9)
    for found, expected in zip(same.sparse, values["sparse"], strict=True):
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
    for found, expected in zip(same.trees, values["trees"], strict=True):
        np.testing.assert_array_equal(found.query(np.ones((1, 3)), 3), expected.query(np.ones((1, 3)), 3))


def test_small_clusterers_load_at_once(path):
    X = np.random.RandomState(0).standard_normal((120, 4)) + np.repeat(3 * np.eye(4)[:3], 40, axis=0)
    pf.save(pf.BootstrapClustering(3, random_state=0).fit(X), path)
    times = []
    for _ in range(5):
        start = time.process_time()  # others may use the machine as well
        pf.load(path)
        times.append(time.process_time() - start)
    assert min(times) <= 0.1


def test_what_grows_beyond_bounds_is_refused(path):
    small, large = packed(b"[]\n", {}), zlib.compress(bytes(_container.SMALL + 1))
    bomb = small[: small.index(b"\n", len(MAGIC)) + 1] + large
    path.write_bytes(bomb + hashlib.sha256(bomb).digest())
    assert_refused(path, "grows beyond")


def test_large_models_are_stored_as_they_are(model, path, blobs, monkeypatch):
    monkeypatch.setattr(_container, "SMALL", 1000)
    pf.save(model, path)
    assert not describe(path)["compressed"]
    np.testing.assert_array_equal(pf.load(path).transform(blobs), model.transform(blobs))


def own_kernel(X, Y):
    return X @ Y.T


def test_a_function_of_ones_own_has_to_be_trusted(blobs, tmp_path):
    model = pf.KernelEmbedding(kernel=own_kernel).fit(blobs)
    pf.save(model, tmp_path / "m")
    assert_refused(tmp_path / "m", f"{own_kernel.__module__}.own_kernel")
    same = pf.load(tmp_path / "m", trusted=f"{own_kernel.__module__}.own_kernel")
    np.testing.assert_array_equal(same.transform(blobs), model.transform(blobs))


def stored():
    return sorted(FILES.glob("*/*.polyfold"))


@pytest.mark.parametrize("file", stored(), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_models_of_older_versions_load(file, monkeypatch):
    expected = np.load(file.with_suffix(".npz"))
    monkeypatch.setattr(_container, "version", lambda _: "98.0")  # that a later minor version is here is enough
    with warnings.catch_warnings():
        warnings.simplefilter("error", InconsistentVersionWarning)
        model = pf.load(file)
    found = model.predict(expected["X"]) if "labels" in expected else model.transform(expected["X"])
    reference = expected["labels" if "labels" in expected else "Z"]
    np.testing.assert_allclose(found, reference, rtol=1e-5, atol=1e-8 * float(np.abs(reference).max()))


def test_there_are_models_of_older_versions():
    heads = [json.loads(path.read_bytes().split(b"\n", 2)[1]) for path in stored()]
    assert len({head["class"] for head in heads}) >= 6
    assert all(path.stat().st_size < 100_000 for path in stored())


@pytest.mark.slow
@pytest.mark.parametrize("teacher", [pf.ModularKernelPCA(2, 2, random_state=0), KMeans(3, n_init=1, random_state=0)])
def test_students_of_the_default_kind_come_back(teacher, tmp_path):
    X = load_iris().data
    student = pf.Compressed(teacher, random_state=0).fit(X)
    pf.save(student, tmp_path / "student.polyfold")
    use = "predict" if hasattr(student, "predict") else "transform"
    again = pf.load(tmp_path / "student.polyfold")
    assert np.array_equal(getattr(again, use)(X), getattr(student, use)(X))


def test_more_columns_than_any_model_has_are_refused(blobs, path):
    model = pf.KernelEmbedding(2, random_state=0).fit(blobs)
    model._n_features_out = 10**9
    pf.save(model, path)
    assert_refused(path, "columns are not those of a fitted model")


def test_forests_need_trust_in_their_trees(blobs, tmp_path):
    y = np.arange(len(blobs)) % 2
    forest = RandomForestClassifier(3, random_state=0).fit(blobs, y)
    pf.save(forest, tmp_path / "m")
    names = ["sklearn.ensemble._forest.RandomForestClassifier", "sklearn.tree._classes.DecisionTreeClassifier"]
    names += ["sklearn.tree._tree.Tree"]
    assert f"trusted={names}" in assert_refused(tmp_path / "m", "Tree")
    same = pf.load(tmp_path / "m", trusted=names)
    np.testing.assert_array_equal(same.predict_proba(blobs), forest.predict_proba(blobs))
