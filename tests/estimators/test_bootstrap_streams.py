"""Bootstrap networks of more rows than they learn from, in any container."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

pytest.importorskip("dask")
pytest.importorskip("pyarrow")
pytest.importorskip("zarr")

import dask
import dask.array as da
from dask.callbacks import Callback

import polyfold as pf
from tests.sources.containers import LOCAL, Reread, container

N, LEARNED = 900, 300


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(N, n_features=12, centers=4, cluster_std=2.0, random_state=0)
    return X.astype(np.float32), y


def network(**changes):
    options = {"n_classes": 4, "n_clusterings": 30, "feature_fraction": 0.5, "max_samples": LEARNED, "random_state": 0}
    return pf.MultilayerBootstrapNetwork(3, **(options | changes))


def clustering(**changes):
    return pf.BootstrapClustering(4, network=network(), random_state=0, **changes)


@pytest.fixture(scope="module")
def there(blobs):
    return clustering().fit(blobs[0])


@pytest.mark.parametrize("kind", [*LOCAL[1:], "dask", "frame"])
def test_every_container_gives_the_clusters_of_the_array(blobs, there, kind, tmp_path):
    X, _ = blobs
    given = container(kind, X, tmp_path)
    model = clustering().fit(given)
    np.testing.assert_array_equal(model.labels_, there.labels_)
    np.testing.assert_array_equal(model.embedding_, there.embedding_)
    np.testing.assert_array_equal(model.network_.sample_indices_, there.network_.sample_indices_)
    assert hasattr(model, "feature_names_in_") == (kind in ("parquet", "frame"))
    labels, Z = model.predict(given), model.transform(given)
    assert isinstance(labels, da.Array) == isinstance(Z, da.Array) == (kind in ("dask", "frame"))
    np.testing.assert_array_equal(np.asarray(labels), there.labels_)
    np.testing.assert_array_equal(np.asarray(Z), there.embedding_)


def test_the_network_is_that_of_the_sample(blobs):
    X, _ = blobs
    model = network().fit(X)
    rows = model.sample_indices_
    assert len(rows) == LEARNED
    assert (np.diff(rows) > 0).all()
    alone = network().fit(X[rows])
    assert alone.sample_indices_ is None
    np.testing.assert_array_equal(model.codes(), alone.codes())
    np.testing.assert_array_equal(model.embedding_[rows], alone.embedding_)
    np.testing.assert_array_equal(model.embedding_, model.transform(X))
    assert not np.array_equal(rows, network(random_state=1).fit(X).sample_indices_)


def test_few_rows_and_none_learn_from_all(blobs):
    X, _ = blobs
    whole = network(max_samples=None).fit(X)
    assert whole.sample_indices_ is None
    assert whole.codes().shape == (N, 30)
    np.testing.assert_array_equal(network(max_samples=N).fit([X[:100], X[100:]]).embedding_, whole.embedding_)


def test_clusters_of_the_others_are_as_good(blobs, there):
    X, y = blobs
    others = np.delete(np.arange(N), there.network_.sample_indices_)
    found = clustering().fit(X).labels_
    assert pf.metrics.nmi(y[others], found[others]) > 0.95


def test_sparse_rows_bytes_and_lists_of_neighbours(blobs):
    X = np.clip(blobs[0] * 4 + 100, 0, 255).astype(np.uint8)
    model = network(neighbors="graph").fit([X[:500], X[500:]])
    assert model.encoder_.first.X.dtype == np.uint8
    np.testing.assert_array_equal(model.embedding_, network(neighbors="graph").fit(X).embedding_)
    np.testing.assert_array_equal(model.codes(X[model.sample_indices_], 0), model.codes(None, 0))
    S = sp.csr_array(X * (X > 110)).astype(np.float64)
    sparse = network(metric="euclidean").fit([S[:400], S[400:]])
    np.testing.assert_array_equal(sparse.embedding_, network(metric="euclidean").fit(S).embedding_)


def test_neighbours_of_streams(blobs):
    X, _ = blobs
    model = network().fit(X)
    distances, indices = model.kneighbors(X[:50], 4)
    lazy = model.kneighbors(da.from_array(X[:50], chunks=(20, 12)), 4)
    np.testing.assert_array_equal(lazy[1].compute(), indices)
    np.testing.assert_array_equal(model.kneighbors([X[:20], X[20:50]], 4)[0], distances)
    assert indices.max() < LEARNED


def test_those_that_read_all_codes_learn_from_all(blobs):
    X = blobs[0][:200]
    near = pf.BootstrapNeighborsTransformer(5, network=network(max_samples=50))
    assert near.fit_transform(X).shape == (200, 200)


def test_a_checkpoint_is_taken_up_with_its_sample(blobs, tmp_path):
    X, _ = blobs
    first = network(random_state=None).fit(X, checkpoint=tmp_path)
    again = network(random_state=None).fit([X[:10], X[10:]], checkpoint=tmp_path)
    np.testing.assert_array_equal(first.embedding_, again.embedding_)


def test_bad_rows_are_named_and_nothing_is_left_behind(blobs):
    X = blobs[0].copy()
    X[777, 3] = np.nan
    for given in ([X[:500], X[500:]], da.from_array(X, chunks=(500, 12))):
        model = clustering()
        with pytest.raises(ValueError, match=r"X must be finite, got NaN or infinity in row 777"):
            model.fit(given)
        assert not hasattr(model, "labels_")


def test_an_interrupted_fit_leaves_the_model_as_it_was(blobs, monkeypatch):
    X, _ = blobs
    model = clustering().fit(X)
    before = dict(vars(model))

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("polyfold.estimators._bootstrap_rows.transform_rest", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert vars(model) == before


class Most(Callback):
    """The most rows of the data, in one array or several, that any task has returned."""

    def __init__(self):
        self.rows = 0
        super().__init__(posttask=self.note)

    def note(self, key, result, graph, state, worker):
        arrays = result if isinstance(result, list) else [result]
        found = [len(part) for part in arrays if isinstance(part, np.ndarray) and part.shape[1:] == (12,)]
        self.rows = max(self.rows, sum(found))


def test_rows_are_gone_through_three_times_and_no_task_sees_more_than_a_chunk(blobs):
    X = Reread(blobs[0], [400])
    clustering().fit(X)
    looks, counting, sample, others = 1, 1, 1, 1
    assert X.passes == looks + counting + sample + others
    chunks = da.from_array(blobs[0], chunks=(150, 12))
    with Most() as most, dask.config.set(scheduler="synchronous"):
        clustering().fit(chunks)
    assert 0 < most.rows <= LEARNED  # what is kept of the chunks


@pytest.mark.parametrize("value", [1, 2.5, "all"])
def test_max_samples_is_checked(blobs, value):
    with pytest.raises((TypeError, ValueError), match="max_samples must be an integer >= 2.*pass None to learn"):
        network(max_samples=value).fit(blobs[0])
