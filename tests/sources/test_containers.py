"""Any container gives the same rows, in blocks of any wanted size."""

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("dask")
pytest.importorskip("pyarrow")
pytest.importorskip("zarr")

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

import polyfold as pf
from polyfold.sources import as_source, is_stream, memory_budget
from polyfold.sources._budget import budget
from polyfold.sources._source import regrouped
from tests.sources.containers import LOCAL, Again, Reread, container, rows


@pytest.mark.parametrize("kind", [*LOCAL, "dask", "frame"])
@pytest.mark.parametrize("size", [1, 64, 1000, 4000])
def test_blocks_have_the_size_that_is_asked_for(kind, size, tmp_path):
    X = rows(1500)
    if size == 1:
        X = X[:30]
    source = as_source(container(kind, X, tmp_path))
    blocks = list(source.blocks(size))
    assert source.shape == X.shape
    assert source.dtype == np.float32
    assert [start for start, _ in blocks] == list(range(0, len(X), size))
    assert {len(block) for _, block in blocks[:-1]} <= {size}
    np.testing.assert_array_equal(np.concatenate([block for _, block in blocks]), X)
    np.testing.assert_array_equal(source.whole(), X)
    np.testing.assert_array_equal(source.head(7), X[:7])


@pytest.mark.parametrize("kind", [*LOCAL[1:], "dask", "frame"])
def test_containers_are_streams(kind, tmp_path):
    assert is_stream(container(kind, rows(50), tmp_path))


@pytest.mark.parametrize(
    "X", [np.eye(3), [[1.0, 2.0]], [1, 2], [], None, sp.eye_array(3).tocsr(), [[np.ones(3)]], {"a": 1}]
)
def test_arrays_and_nonsense_are_not(X):
    assert not is_stream(X)


@pytest.mark.parametrize("kind", ["path", "text", "group", "file", "files"])
def test_what_is_not_opened_says_how_to_open_it(kind, tmp_path):
    import zarr

    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1.0, 2.0]}), path)
    X, told = {
        "path": lambda: (path, r"pyarrow.dataset.dataset\(path\)"),
        "text": lambda: ("rows.zarr", r"zarr.open_array\(path\)"),
        "group": lambda: (zarr.open_group(tmp_path / "g.zarr", mode="w"), "one of its arrays"),
        "file": lambda: (pyarrow.parquet.ParquetFile(path), "got a ParquetFile"),
        "files": lambda: (pyarrow.parquet.ParquetDataset(path), "got a ParquetDataset"),
    }[kind]()
    with pytest.raises(TypeError, match=told):
        pf.ModularKernelPCA().fit(X)
    with pytest.raises(TypeError, match=told):
        as_source(X)


def test_blocks_of_two_precisions_lose_none_or_are_refused(rng):
    X = rng.standard_normal((300, 6)) + 1e6
    blocks = [X[:1].astype(np.float32), X[1:]]
    joined = as_source(blocks).whole()
    assert joined.dtype == np.float64
    np.testing.assert_array_equal(joined[1:], X[1:])
    with pytest.raises(ValueError, match="first one, float32, got float64 in block 1, which begins at row 1"):
        as_source(Again(blocks)).whole()
    assert as_source(Again(blocks[::-1])).whole().dtype == np.float64


def test_tables_in_memory_are_not_streams():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    for table in (pd.DataFrame({"a": [1.0]}), pl.DataFrame({"a": [1.0]}), pa.table({"a": [1.0]})):
        assert not is_stream(table)


def test_sparse_blocks_stay_sparse(rng):
    X = sp.random_array((50, 9), density=0.2, rng=0).tocsr()
    source = as_source([X[:20], X[20:21], X[21:]])
    blocks = [block for _, block in source.blocks(16)]
    assert all(sp.issparse(block) for block in blocks)
    np.testing.assert_array_equal(sp.vstack(blocks).toarray(), X.toarray())


@pytest.mark.parametrize(("given", "worked"), [(np.uint8, np.float64), (np.float16, np.float64), (np.float32,) * 2])
def test_numbers_become_floats_block_by_block(given, worked):
    X = np.arange(60).reshape(20, 3).astype(given)
    source = as_source([X[:9], X[9:]])
    assert source.dtype == worked
    assert all(block.dtype == worked for _, block in source.blocks(4))


def test_a_zarr_chunk_is_read_once():
    class Counting:
        shape, dtype, chunks = (1000, 4), np.dtype(np.float32), (300, 4)
        __module__ = "zarr.pretended"

        def __init__(self):
            self.read = []

        def __getitem__(self, part):
            self.read.append((part.start, part.stop))
            return np.zeros((min(part.stop, 1000) - part.start, 4), np.float32)

    X = Counting()
    with memory_budget(10**7):
        assert sum(len(block) for _, block in as_source(X).blocks(64)) == 1000
    assert all(start % 300 == 0 for start, _ in X.read)
    assert len({start for start, _ in X.read}) == len(X.read)


def test_chunks_beyond_the_budget_are_refused():
    class Wide:
        shape, dtype, chunks = (10**6, 1000), np.dtype(np.float64), (10**5, 1000)
        __module__ = "zarr.pretended"

    with memory_budget("100 MB"), pytest.raises(ValueError, match="X must have chunks within the memory budget"):
        as_source(Wide())


@pytest.mark.parametrize("size", ["much", "5 XB", 10, -1, "1 MB"])
def test_a_budget_is_a_size(size):
    with pytest.raises(ValueError, match="memory_budget must be"), memory_budget(size):
        pass


def test_a_budget_has_a_unit_of_either_kind():
    for size, expected in (
        ("20 MB", 20_000_000),
        ("20 MiB", 20 * 2**20),
        ("2GB", 2 * 10**9),
        ("30000 KiB", 30000 * 1024),
    ):
        with memory_budget(size):
            assert budget() == expected


def test_nothing_is_copied_where_blocks_fit():
    X = np.zeros((10, 2))
    assert all(np.shares_memory(block, X) for _, block in regrouped([X[:4], X[4:]], 2))


def test_columns_of_a_data_set_are_chosen_by_name(tmp_path):
    X = rows(40)
    dataset = container("parquet", X, tmp_path)
    chosen = as_source(dataset, columns=["column 3", "column 1"])
    assert chosen.names == ("column 3", "column 1")
    np.testing.assert_array_equal(chosen.whole(), X[:, [3, 1]])
    with pytest.raises(ValueError, match="columns must be those of X, got 'else'"):
        as_source(dataset, columns=["else"])
    with pytest.raises(ValueError, match="columns needs a pyarrow dataset"):
        as_source([X], columns=["column 1"])


@pytest.mark.parametrize("values", [["a"], [[1.0]], [None]])
def test_columns_without_numbers_are_named(values):
    table = pyarrow.dataset.dataset(pa.table({"x": [1.0], "y": values}))
    with pytest.raises(ValueError, match="X must have columns of numbers, got 'y' of type"):
        as_source(table)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([np.ones((3, 2)), np.ones((3, 1))], r"blocks of X must have rows and 2 columns.*\(3, 1\) in block 1.*row 3"),
        ([np.ones((3, 2)), np.ones((0, 2))], r"blocks of X must have rows and 2 columns.*\(0, 2\) in block 1"),
        ([np.ones((3, 2)), np.ones(2)], r"blocks of X must have rows and 2 columns.*\(2,\) in block 1"),
        ([np.ones((3, 2)), np.full((3, 2), "a")], "X must hold numbers, got blocks of <U1"),
    ],
)
def test_blocks_that_differ_are_named(blocks, message):
    with pytest.raises(ValueError, match=message):
        list(as_source(blocks).blocks(2))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_blocks_with_columns_in_another_order_are_refused(rng, library):
    frame_type = pytest.importorskip(library).DataFrame
    first, second = (frame_type(dict(zip("abcd", rng.standard_normal((4, 30)), strict=True))) for _ in range(2))
    permuted = second[list("dcba")]
    model = pf.ModularKernelPCA(2, 2, random_state=0).fit([first, second])
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="in the same order, got d, c, b, a in block 1, which begins at row 30"):
        pf.ModularKernelPCA(2, 2).fit([first, permuted])
    with pytest.raises(ValueError, match="feature names"):
        model.transform([permuted])


def test_an_iterator_is_refused_because_it_ends():
    with pytest.raises(TypeError, match="X must be an iterable of blocks that can be iterated again, got generator"):
        as_source(block for block in [np.ones((3, 2))])


def test_an_iterable_without_blocks_is_refused():
    with pytest.raises(ValueError, match="X must have rows, got an iterable without any block"):
        as_source(type("Empty", (), {"__iter__": lambda self: iter(())})())


def test_rows_that_change_between_passes_are_seen():
    X = Reread(np.ones((9, 2)), [4])
    source = as_source(X)
    assert source.n_rows == 9
    X.X = np.ones((8, 2))
    with pytest.raises(ValueError, match="X must give the same rows in every pass, got 8 after 9"):
        list(source.blocks(4))


def test_blocks_stay_as_they_are_if_the_iterable_fills_its_buffer_again():
    X = rows(300)

    class Buffered:
        def __iter__(self):
            buffer = np.empty_like(X[:100])
            for start in range(0, len(X), len(buffer)):
                buffer[:] = X[start : start + len(buffer)]
                yield buffer

    for size in (70, 100, 1000):
        np.testing.assert_array_equal(np.concatenate([block for _, block in as_source(Buffered()).blocks(size)]), X)
    matrix = sp.csr_array(X[:100])
    source = as_source([matrix, matrix])
    blocks = [block for _, block in source.blocks(100)]
    matrix.data[:] = 0
    np.testing.assert_array_equal(blocks[0].toarray(), X[:100])
