"""The same rows in every container."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import zarr

LOCAL = ("array", "memmap", "zarr", "parquet", "lists", "blocks")


class Reread:
    """Blocks that are made again in every pass, and counted."""

    def __init__(self, X, ends):
        self.X, self.ends, self.passes = X, ends, 0

    def __iter__(self):
        self.passes += 1
        return iter(np.split(self.X, self.ends))


class Again:
    """Blocks whose types are seen only in a pass."""

    def __init__(self, blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(self.blocks)


def rows(n=3000, d=12, seed=0):
    """Rows whose directions decay, so that each of them is told from the next."""
    rng = np.random.RandomState(seed)
    return (rng.standard_normal((n, d)) * 0.7 ** np.arange(d) + 5).astype(np.float32)


def container(kind, X, folder):
    names = [f"column {number}" for number in range(X.shape[1])]
    if kind == "array":
        return X
    if kind == "memmap":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if kind == "zarr":
        array = zarr.open_array(str(folder / "X.zarr"), mode="w", shape=X.shape, chunks=(700, 5), dtype=X.dtype)
        array[:] = X
        return array
    if kind == "parquet":
        table = pa.table([column.copy() for column in X.T], names=names)
        pyarrow.parquet.write_table(table, folder / "X.parquet", row_group_size=999)
        return pyarrow.dataset.dataset(folder / "X.parquet")
    if kind == "lists":
        lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
        pyarrow.parquet.write_table(pa.table({"vector": lists}), folder / "lists.parquet", row_group_size=999)
        return pyarrow.dataset.dataset(folder / "lists.parquet")
    if kind == "blocks":
        return Reread(X, [1, 5, len(X) // 2, len(X) // 2 + 1])
    if kind == "dask":
        return da.from_array(X, chunks=(640, 7))
    return dd.from_pandas(pd.DataFrame(X, columns=names), npartitions=4)
