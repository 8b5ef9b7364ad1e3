"""Methods answer streams block by block, and write what they say as it comes."""

import numpy as np
import pytest

pytest.importorskip("zarr")
pytest.importorskip("pyarrow")
pytest.importorskip("dask")

import zarr
from sklearn.frozen import FrozenEstimator

import polyfold as pf
from polyfold.sources import _methods as methods
from polyfold.sources import write_rows
from tests.sources.containers import Reread, container, rows


@pytest.fixture(scope="module", name="X")
def some_rows():
    return rows(400)


@pytest.fixture(scope="module")
def model(X):
    return pf.ModularKernelPCA(3, 2, rank=30, random_state=0).fit(X)


@pytest.fixture(scope="module")
def index(model, X):
    return pf.ModularNeighbors(FrozenEstimator(model), n_neighbors=4, engine="sklearn").fit(X)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(methods, "MOST_ROWS", 64)


def same(found, wanted):
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("kind", ["memmap", "zarr", "parquet", "blocks"])
def test_votes_and_neighbours_of_a_stream(kind, X, model, index, tmp_path, small_blocks):
    stream = pf.sources.as_source(container(kind, X, tmp_path))
    stream.names = None
    classifier = pf.ModularClassifier(FrozenEstimator(model)).fit(X, X[:, 0] > 5)
    np.testing.assert_array_equal(classifier.predict(stream), classifier.predict(X))
    same(classifier.predict_proba(stream), classifier.predict_proba(X))
    for found, wanted in zip(index.kneighbors(stream, 3, modules=2), index.kneighbors(X, 3, modules=2), strict=True):
        same(found, wanted)
    np.testing.assert_array_equal(
        index.kneighbors(X=stream, return_distance=False), index.kneighbors(X, return_distance=False)
    )


def test_reconstructions_of_a_stream_of_codes(X, small_blocks):
    model = pf.ModularAutoencoder(2, 2, random_state=0).fit(X)
    Z = model.transform(X)
    same(model.inverse_transform([Z[:100], Z[100:]]), model.inverse_transform(Z))
    same(model.transform_modules([X[:100], X[100:]]), model.transform_modules(X))


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_results_are_written_to_new_files(suffix, X, model, tmp_path, small_blocks):
    path = tmp_path / f"Z{suffix}"
    Z = write_rows(model.transform, Reread(X, [3, 200]), path)
    same(np.asarray(Z[:]), model.transform(X))
    assert sorted(tmp_path.iterdir()) == [path]
    again = write_rows(model.transform, X[:9], str(path))
    assert again.shape == (9, 6)


def test_results_are_written_into_given_arrays(X, model, index, tmp_path, small_blocks):
    given = np.lib.format.open_memmap(tmp_path / "Z.npy", mode="w+", dtype=np.float32, shape=(400, 6))
    assert write_rows(model.transform, X, given) is given
    same(given, model.transform(X))
    distances = zarr.open_array(str(tmp_path / "d.zarr"), mode="w", shape=(400, 3), chunks=(100, 3), dtype="f4")
    indices = np.empty((400, 3), np.int64)
    write_rows(index.kneighbors, X, (distances, indices), n_neighbors=3)
    same(distances[:], index.kneighbors(X, 3)[0])
    np.testing.assert_array_equal(indices, index.kneighbors(X, 3)[1])


def test_a_failure_leaves_no_file_and_the_old_one(X, model, tmp_path, small_blocks):
    bad = X.copy()
    bad[300] = np.nan
    for suffix in (".npy", ".zarr"):
        path = tmp_path / f"Z{suffix}"
        with pytest.raises(ValueError, match="NaN"):
            write_rows(model.transform, [bad[:100], bad[100:]], path)
        assert not path.exists()
    write_rows(model.transform, X, tmp_path / "Z.npy")
    with pytest.raises(ValueError, match="NaN"):
        write_rows(model.transform, [bad[:100], bad[100:]], tmp_path / "Z.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["Z.npy"]
    same(np.load(tmp_path / "Z.npy"), model.transform(X))


def test_what_holds_something_else_is_not_replaced(X, model, tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "store.zarr", mode="w")
    group.create_array("raw", shape=X.shape, dtype=X.dtype)[:] = X
    (tmp_path / "other.zarr").mkdir()
    (tmp_path / "other.zarr" / "precious.txt").write_text("precious")
    for name in ("store.zarr", "other.zarr"):
        with pytest.raises(FileExistsError, match="which is neither; choose another"):
            write_rows(model.transform, X, tmp_path / name)
    assert (tmp_path / "other.zarr" / "precious.txt").exists()
    np.testing.assert_array_equal(group["raw"][:], X)
    for _ in range(2):  # an array may be replaced
        write_rows(model.transform, X, tmp_path / "Z.zarr")
    (tmp_path / "real.npy").write_bytes(b"")
    (tmp_path / "link.npy").symlink_to(tmp_path / "real.npy")
    write_rows(model.transform, X, tmp_path / "link.npy")
    assert (tmp_path / "link.npy").is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "real.npy"), model.transform(X))


def test_outputs_that_cannot_hold_the_results_are_refused(X, model, index, tmp_path):
    width = model.transform(X[:1]).shape[1]
    for out in (np.empty((len(X), width), dtype=int), np.empty((len(X), width + 1))):
        with pytest.raises(ValueError, match="out must hold rows of shape"):
            write_rows(model.transform, X, out)
    with pytest.raises(ValueError, match="out must name a different file"):
        write_rows(index.kneighbors, X, (tmp_path / "k.npy", tmp_path / "k.npy"))
    with pytest.raises(ValueError, match="out must be 2 targets"):
        write_rows(index.kneighbors, X, tmp_path / "k.npy")
    with pytest.raises(FileNotFoundError, match="out must be in a folder that exists"):
        write_rows(model.transform, X, tmp_path / "nowhere" / "Z.npy")
    with pytest.raises(TypeError, match="method must be a method of a fitted estimator"):
        write_rows(np.sqrt, X, tmp_path / "Z.npy")
    assert not list(tmp_path.iterdir())


def test_outputs_of_the_wrong_form_are_refused_before_anything_is_read(X, model):
    stream = Reread(X, [5])
    with pytest.raises(ValueError, match=r"out must have a row for every row of X, 400, got shape \(3, 6\)"):
        write_rows(model.transform, stream, np.empty((3, 6)))
    with pytest.raises(ValueError, match="out must be an array or a name that ends in .npy or .zarr, got 'Z.csv'"):
        write_rows(model.transform, stream, "Z.csv")
