"""Data sets are read from the folder or fetched from openml.org; otherwise the error names the missing file."""

import dataclasses
import pickle
import re
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import Bunch

from papers.data import _catalogue, _load, load_dataset
from papers.data._catalogue import CATALOGUE
from papers.data._store import content_digest, write_arrays


def small_arrays(name):
    rng = np.random.default_rng(0)
    entry = CATALOGUE[name]
    if "indptr" in entry.arrays:
        X = sparse.random(6, 5, density=0.5, format="csr", random_state=0)
        texts = {"vocab": np.array(list("abcde")), "class_names": np.array(["u", "v"])}
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        return {**parts, **texts, "y": np.arange(6) % 2, "test": np.array([0, 0, 0, 0, 1, 1], dtype=np.int8)}
    side = entry.image_shape or (2, 2)
    arrays = {"X": rng.integers(0, 255, (6, side[0] * side[1])).astype(np.uint8), "y": np.arange(6) % 2}
    if "n_train" in entry.arrays:
        arrays["n_train"] = np.int64(4)
    if "light" in entry.arrays:
        arrays["light_pan_tilt"] = rng.normal(size=(6, 3))
    return {key: np.asarray(value) for key, value in arrays.items()}


@pytest.mark.parametrize("name", CATALOGUE)
def test_reads_the_file_of_the_folder(name, tmp_path):
    arrays = small_arrays(name)
    write_arrays(tmp_path / CATALOGUE[name].file, arrays)
    bunch = load_dataset(name, tmp_path)
    data = bunch.data.toarray() if sparse.issparse(bunch.data) else bunch.data
    assert data.shape[0] == bunch.target.shape[0] == 6
    if "X" in arrays:
        np.testing.assert_array_equal(data, arrays["X"])
    X, y = load_dataset(name, tmp_path, return_X_y=True)
    assert X.shape == bunch.data.shape
    np.testing.assert_array_equal(y, bunch.target)


def test_folder_comes_from_the_environment(tmp_path, monkeypatch):
    write_arrays(tmp_path / "orl_32.npz", small_arrays("orl"))
    monkeypatch.setenv("POLYFOLD_DATA", str(tmp_path))
    assert load_dataset("orl").data.shape == (6, 1024)


def test_published_split_and_image_shape_are_kept(tmp_path):
    write_arrays(tmp_path / "mnist.npz", small_arrays("mnist"))
    bunch = load_dataset("mnist", tmp_path)
    assert (bunch.n_train, bunch.image_shape) == (4, (28, 28))


def test_texts_keep_vocabulary_and_split(tmp_path):
    write_arrays(tmp_path / CATALOGUE["reuters"].file, small_arrays("reuters"))
    bunch = load_dataset("reuters", tmp_path)
    assert sparse.issparse(bunch.data)
    assert bunch.test.dtype == bool
    assert bunch.test.sum() == 2
    assert len(bunch.feature_names) == bunch.data.shape[1]


def test_faces_are_paired_with_light_and_pose(tmp_path):
    write_arrays(tmp_path / CATALOGUE["isomap_faces"].file, small_arrays("isomap_faces"))
    assert load_dataset("isomap_faces", tmp_path).target.shape == (6, 3)


def test_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"name must be one of mnist, .*, got 'mnits'"):
        load_dataset("mnits", tmp_path)


def test_by_default_the_folder_is_at_home(tmp_path, monkeypatch):
    monkeypatch.delenv("POLYFOLD_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"polyfold_data.mnist\.npz does not.*X \(70000×784.*POLYFOLD_DATA"):
        load_dataset("mnist", download=False)
    assert list(tmp_path.iterdir()) == []
    write_arrays(tmp_path / "polyfold_data" / "orl_32.npz", small_arrays("orl"))
    assert load_dataset("orl").data.shape == (6, 1024)


def test_missing_file_without_openml_says_what_to_put_where(tmp_path):
    with pytest.raises(FileNotFoundError, match=rf"{re.escape(str(tmp_path))}.coil20_32\.npz does not exist"):
        load_dataset("coil20", tmp_path)


def test_known_file_with_other_content_is_refused(tmp_path, monkeypatch):
    arrays = small_arrays("orl")
    np.savez(tmp_path / "orl_32.npz", **arrays)
    with pytest.raises(ValueError, match="content checksum"):
        load_dataset("orl", tmp_path)
    assert load_dataset("orl", tmp_path, verify=False).data.shape == (6, 1024)
    known = dataclasses.replace(CATALOGUE["orl"], sha256=content_digest(arrays))
    monkeypatch.setitem(_catalogue.CATALOGUE, "orl", known)
    assert load_dataset("orl", tmp_path).data.shape == (6, 1024)


def damaged(kind, path):
    """Put a file that is no set of arrays at `path`."""
    arrays = small_arrays("orl")
    write_arrays(path, arrays)
    whole = path.read_bytes()
    if kind == "a single array":
        with path.open("wb") as file:
            np.save(file, arrays["X"])
    elif kind == "Python objects":
        np.savez(path, X=np.array([{}], dtype=object), y=arrays["y"])
    elif kind == "a pickle":
        path.write_bytes(pickle.dumps(arrays))
    elif kind == "another archive":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("readme.txt", "hello")
    elif kind == "an empty archive":
        zipfile.ZipFile(path, "w").close()
    else:
        path.write_bytes({"truncated": whole[:-200], "empty": b"", "text": b"X,y\n1,2\n"}[kind])


@pytest.mark.parametrize(
    "kind",
    [
        "truncated",
        "empty",
        "text",
        "a single array",
        "Python objects",
        "a pickle",
        "another archive",
        "an empty archive",
    ],
)
@pytest.mark.parametrize("verify", [True, False])
def test_a_file_that_cannot_be_read_is_refused_in_words(kind, verify, tmp_path):
    path = tmp_path / "orl_32.npz"
    damaged(kind, path)
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))} must be an \.npz file.*Replace it") as caught:
        load_dataset("orl", tmp_path, verify=verify)
    assert "allow_pickle" not in str(caught.value)


def test_any_byte_may_be_wrong(tmp_path):
    """What is read is what was written, or the file is named."""
    path = tmp_path / "orl_32.npz"
    X, y = np.zeros((6, 1024), dtype=np.uint8), np.arange(6)
    write_arrays(path, {"X": X, "y": y})
    whole = path.read_bytes()
    silent = []
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 33]) + whole[place + 1 :])
        try:
            read = load_dataset("orl", tmp_path, return_X_y=True)
        except ValueError as error:
            right = str(path) in str(error)
        else:
            right = np.array_equal(read[0], X) and np.array_equal(read[1], y)
        silent += [] if right else [place]
    assert silent == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None}, "y is missing, it has X. Replace"),
        ({"y": np.arange(5)}, r"\(6, 1024\) and targets of shape \(5,\) do not match. Replace"),
        ({"X": np.ones((6, 7))}, r"7 columns do not match images of \(32, 32\) pixels. Replace"),
        ({"X": np.ones(6)}, "do not match. Replace"),
    ],
)
def test_wrong_arrays_are_named(change, message, tmp_path):
    arrays = {name: a for name, a in {**small_arrays("orl"), **change}.items() if a is not None}
    write_arrays(tmp_path / "orl_32.npz", arrays)
    with pytest.raises(ValueError, match=rf"orl_32\.npz must hold .*{message}"):
        load_dataset("orl", tmp_path)


@pytest.mark.parametrize("change", [{"indices": np.array([99])}, {"shape": np.array([2])}, {"indptr": np.arange(3)}])
def test_broken_sparse_texts_are_named(change, tmp_path):
    arrays = small_arrays("reuters")
    part = {name: np.resize(a, arrays[name].shape) if name == "indices" else a for name, a in change.items()}
    write_arrays(tmp_path / CATALOGUE["reuters"].file, {**arrays, **part})
    with pytest.raises(ValueError, match=r"csr\.npz must hold consistent arrays.*Replace the file"):
        load_dataset("reuters", tmp_path)


def fake_openml(n_rows, n_columns, calls):
    def fetch(**arguments):
        calls.append(arguments)
        X = np.arange(n_rows * n_columns, dtype=float).reshape(n_rows, n_columns) % 256
        return Bunch(data=X, target=(np.arange(n_rows) % 3).astype(str))

    return fetch


def test_absent_set_is_fetched_once_and_kept(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fake_openml(5, 784, calls))
    bunch = load_dataset("fashion_mnist", tmp_path / "new")
    again = load_dataset("fashion_mnist", tmp_path / "new")
    assert [call["data_id"] for call in calls] == [40996]
    assert bunch.data.dtype == np.uint8
    np.testing.assert_array_equal(bunch.data, again.data)
    assert bunch.n_train == 60_000


def test_isolet_keeps_part_one_sorted_by_letter(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fake_openml(1600, 617, []))
    bunch = load_dataset("isolet1", tmp_path)
    assert bunch.data.shape == (1560, 617)
    assert np.all(np.diff(bunch.target) >= 0)


def test_another_set_from_openml_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fake_openml(215, 7, []))
    with pytest.raises(FileNotFoundError, match="has 7 columns instead of 5"):
        load_dataset("new_thyroid", tmp_path)
    assert not list(tmp_path.iterdir())


def test_openml_out_of_reach_becomes_advice(tmp_path, monkeypatch):
    def fail(**_):
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(FileNotFoundError, match=r"openml.org did not return data set 554 \(no route to host\)"):
        load_dataset("mnist", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"digits of 28×28 pixels, 60,000 for training\)\. Put an"):
        load_dataset("mnist", tmp_path, download=False)


def test_interrupted_conversion_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(_load, "_fetch_arrays", lambda *_: small_arrays("mnist"))

    def interrupt(file, **_):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("numpy.savez_compressed", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load_dataset("mnist", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_conversion_of_labels_written_as_numbers(tmp_path, monkeypatch):
    def fetch(**_):
        return Bunch(data=np.ones((3, 5)), target=np.array(["1", "3", "2"], dtype=object))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    arrays = _load._fetch_arrays("new_thyroid", CATALOGUE["new_thyroid"], tmp_path)
    assert arrays["y"].tolist() == [1, 3, 2]
    assert arrays["X"].dtype == np.float32
