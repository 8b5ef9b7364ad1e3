"""Estimators whose fit is a sum over blocks: the same model from any container."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("dask")
pytest.importorskip("pyarrow")
pytest.importorskip("zarr")

import polyfold as pf
from polyfold.kernels import Gaussian, KernelColumns
from polyfold.sources import memory_budget
from tests.sources.containers import LOCAL, Reread, container, rows

MODELS = {
    "modular": lambda: pf.ModularKernelPCA(3, 2, rank=60, random_state=0),
    "fourier": lambda: pf.ModularKernelPCA(3, 2, feature_map="fourier", rank=60, random_state=0),
    "linear": lambda: pf.ModularKernelPCA(3, 2, kernel="linear", rank=60, random_state=0),
    "embedding": lambda: pf.KernelEmbedding(3, rank=60, random_state=0),
    "autoencoder": lambda: pf.ModularAutoencoder(3, 2, random_state=0),
    "partition": lambda: pf.baselines.PartitionKernelPCA(3, 2, rank=60, random_state=0),
    "random": lambda: pf.baselines.RandomKernelPCA(3, 2, rank=60, random_state=0),
    "monolithic": lambda: pf.baselines.MonolithicKernelPCA(6, rank=60, random_state=0),
    # These need all rows at once, and read them.
    "bootstrap": lambda: pf.baselines.BootstrapKernelPCA(3, 2, rank=60, random_state=0),
    "exact": lambda: pf.KernelEmbedding(3, random_state=0),
    "graph": lambda: pf.KernelEmbedding(2, kernel="laplacian_eigenmaps", random_state=0),
    "data solver": lambda: pf.ModularKernelPCA(2, 2, solver="sgd", max_iter=2, rank=60, tol=1, random_state=0),
}
SMALL = ("exact", "graph", "bootstrap", "data solver")


@pytest.mark.filterwarnings("ignore:solver='sgd' stopped")
@pytest.mark.parametrize("kind", LOCAL[1:])
@pytest.mark.parametrize("name", MODELS)
def test_a_stream_gives_the_model_of_the_array_to_the_last_bit(name, kind, tmp_path):
    X = rows(500 if name in SMALL else 3000)
    there = MODELS[name]().fit(X)
    streamed = MODELS[name]().fit(container(kind, X, tmp_path))
    np.testing.assert_array_equal(streamed.spectrum_.eigenvalues, there.spectrum_.eigenvalues)
    Z = streamed.transform(container(kind, X, tmp_path))
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z, there.transform(X), atol=1e-6 * np.abs(Z).max())


@pytest.mark.parametrize("budget", [10**7, "8 GB"])
def test_memory_changes_no_bit(budget):
    X = Reread(rows(), [1, 2, 900])
    with memory_budget(budget):
        model = MODELS["modular"]().fit(X)
    np.testing.assert_array_equal(model.eigenvalues_, MODELS["modular"]().fit(X.X).eigenvalues_)


def test_a_fit_counts_surveys_and_sums_in_one_pass_each():
    X = Reread(rows(), [10, 2000])
    MODELS["modular"]().fit(X)
    looks = 2  # for the type, and for the first rows
    counting, survey, sums = 1, 1, 1
    assert X.passes == looks + counting + survey + sums


def test_uneven_chunks_give_the_same_model():
    X = rows()
    features = KernelColumns(Gaussian(0.05).resolve(X[:60]), X[:60])
    whole = pf.ModularKernelPCA(3, 2, feature_map=features, random_state=0).fit([X[:1000], X[1000:]])
    chunks = pf.ModularKernelPCA(3, 2, feature_map=features, random_state=0)
    for part in np.split(X, [7, 8, 1500]):
        chunks.partial_fit(part)
    assert chunks.loss_ == pytest.approx(whole.loss_, rel=1e-9)
    np.testing.assert_allclose(chunks.eigenvalues_, whole.eigenvalues_, rtol=1e-4)


def test_partial_fit_goes_on_from_a_stream(tmp_path):
    X = rows()
    model = MODELS["linear"]().fit([X[:1000], X[1000:2000]]).partial_fit(container("zarr", X[2000:], tmp_path))
    np.testing.assert_allclose(model.eigenvalues_, MODELS["linear"]().fit(X).eigenvalues_, rtol=1e-6)


def test_sparse_blocks_give_the_model_of_the_sparse_matrix():
    X = sp.random_array((900, 40), density=0.1, rng=0).tocsr()
    for name in ("modular", "autoencoder"):
        there, streamed = MODELS[name]().fit(X), MODELS[name]().fit([X[:500], X[500:]])
        np.testing.assert_allclose(streamed.spectrum_.eigenvalues, there.spectrum_.eigenvalues, rtol=1e-6)
        np.testing.assert_allclose(streamed.transform([X[:5], X[5:]]), there.transform(X), atol=1e-6)


def test_integers_on_disk_are_worked_with_in_double_precision(tmp_path):
    X = (20 * rows() - 100).astype(np.uint8)
    streamed = MODELS["modular"]().fit(container("memmap", X, tmp_path))
    np.testing.assert_array_equal(streamed.eigenvalues_, MODELS["modular"]().fit(X).eigenvalues_)


def test_names_of_columns_are_kept_and_checked(tmp_path):
    X = rows()
    data = container("parquet", X, tmp_path)
    model = MODELS["modular"]().fit(data)
    assert list(model.feature_names_in_[:2]) == ["column 0", "column 1"]
    others = pf.sources.as_source(data, columns=[f"column {number}" for number in reversed(range(12))])
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.transform(others)
    with pytest.raises(ValueError, match="X has 4 features"):
        MODELS["modular"]().fit(X).transform([X[:5, :4]])


@pytest.mark.parametrize("name", ["modular", "autoencoder", "embedding", "exact"])
def test_a_bad_row_is_named_and_leaves_the_model_as_it_was(name):
    X = rows(1500)
    model = MODELS[name]().fit(X)
    before = dict(vars(model))
    bad = X.copy()
    bad[1234, 5] = np.nan
    with pytest.raises(ValueError, match="got NaN or infinity in row 1234"):
        model.fit([bad[:700], bad[700:]])
    assert vars(model) == before


def test_one_row_is_not_enough():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        MODELS["modular"]().fit([np.ones((1, 3))])


def test_unfitted_models_do_not_read():
    X = Reread(rows(), [5])
    with pytest.raises(Exception, match="not fitted"):
        MODELS["modular"]().transform(X)
    assert X.passes == 0


def test_kernels_that_look_at_rows_get_them():
    X = rows(150)
    kernel = pf.kernels.SharedCenters(n_classes=3, n_clusterings=20)
    streamed = pf.KernelEmbedding(2, kernel=kernel, rank=40, random_state=0).fit([X[:60], X[60:]])
    there = pf.KernelEmbedding(2, kernel=kernel, rank=40, random_state=0).fit(X)
    np.testing.assert_array_equal(streamed.eigenvalues_, there.eigenvalues_)


def test_more_columns_than_rows_are_read_whole(tmp_path, rng):
    X = rng.standard_normal((40, 90))
    for stream in ([X[:30], X[30:]], container("memmap", X, tmp_path)):
        streamed, there = MODELS["autoencoder"]().fit(stream), MODELS["autoencoder"]().fit(X)
        np.testing.assert_array_equal(streamed.singular_values_, there.singular_values_)


def test_tables_are_made_of_the_results_where_they_are_asked_for():
    X = rows(300)
    model = MODELS["modular"]().fit(X).set_output(transform="pandas")
    np.testing.assert_array_equal(model.transform([X[:100], X[100:]]), model.transform(X))


def test_blocks_are_never_gone_through_twice_at_a_time():
    class OneFile:
        """Blocks of a file that is opened once: a second reader moves it for the first."""

        def __init__(self, X):
            self.X = X

        def __iter__(self):
            self.place = 0
            return self.read()

        def read(self):
            while self.place < len(self.X):
                self.place += 100
                yield self.X[self.place - 100 : self.place]

    X = rows(1000)
    model = MODELS["modular"]().fit(OneFile(X))
    np.testing.assert_array_equal(model.eigenvalues_, MODELS["modular"]().fit(X).eigenvalues_)
    np.testing.assert_allclose(model.transform(OneFile(X)), model.transform(X), atol=1e-5)


class Drawn:
    """Blocks that are drawn when they are asked for, so that all of them are never in memory."""

    def __init__(self, blocks):
        self.blocks = blocks

    def __iter__(self):
        return (rows(2000, 50, seed) for seed in range(self.blocks))


def peak_of(call):
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("polyfold.sources._methods.MOST_ROWS", 4000)

    def use(blocks):
        model = pf.ModularKernelPCA(3, 2, rank=200, random_state=0, n_jobs=1).fit(Drawn(blocks))
        pf.sources.write_rows(model.transform, Drawn(blocks), tmp_path / "Z.npy")

    use(10)  # what is loaded on first use
    few, many = peak_of(lambda: use(10)), peak_of(lambda: use(40))
    added = 30 * 2000 * 50 * 4
    assert many - few < 0.4 * added
    assert peak_of(lambda: list(Drawn(40))) - peak_of(lambda: list(Drawn(10))) > 0.9 * added
