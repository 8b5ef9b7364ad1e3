"""Labels from neighbours alone: as the whole network's up to what is promised, whatever they are asked with."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

import polyfold as pf
from polyfold.bootstrap._early import PROMISED


def overlapping(n, seed=0):
    """Four groups with many rows between them."""
    X, _ = make_blobs(n, centers=3 * np.eye(4, 16), cluster_std=1.0, random_state=seed)
    return X.astype(np.float32)


def network(**changes):
    options = {"n_clusterings": 50, "first_layer": 1000, "neighbors": "graph", "feature_fraction": 0.5, **changes}
    return pf.MultilayerBootstrapNetwork(4, n_classes=4, random_state=0, **options)


def whole_way(model):
    """Return the model as an older file would hold it."""
    old = copy.copy(model)
    for name in ("_early", "early_share_", "early_disagreement_"):
        delattr(old, name)
    return old


@pytest.fixture(scope="module")
def model():
    return pf.BootstrapClustering(4, network=network(), random_state=0, n_init=5).fit(overlapping(9000))


@pytest.fixture(scope="module")
def new():
    return overlapping(4000, seed=1)


def test_labels_differ_from_those_of_the_network_no_more_than_is_promised(model, new):
    assert 0.5 < model.early_share_ < 1
    assert 0 < model.early_disagreement_ <= PROMISED
    early, full = model.predict(new), whole_way(model).predict(new)
    assert early.dtype == full.dtype
    # Two would be expected at most, and more than six of them once in two hundred times.
    assert np.sum(early != full) <= 6


def test_rows_in_doubt_are_those_of_the_network(model, new):
    net = model.network_.network_
    lists = net.bottom.neighbors(new, own=False, n_jobs=1)
    found = model._early.label(net.bottom.X, new, lists)
    assert abs(np.mean(found >= 0) - model.early_share_) < 0.03
    left = found < 0
    np.testing.assert_array_equal(model.predict(new)[left], whole_way(model).predict(new)[left])
    np.testing.assert_array_equal(model.predict(new)[~left], found[~left])


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("size", [1, 37, 1500])
def test_a_row_has_one_label_in_any_batch(model, new, size, n_jobs):
    some, expected = new[:3000] if size > 1 else new[:100], model.predict(new)
    other = copy.copy(model).set_params(n_jobs=n_jobs)
    found = [other.predict(some[start : start + size]) for start in range(0, len(some), size)]
    np.testing.assert_array_equal(np.concatenate(found), expected[: len(some)])


def test_a_stream_is_labelled_as_its_rows_are(model, new, tmp_path):
    np.save(tmp_path / "new.npy", new)
    stream = np.load(tmp_path / "new.npy", mmap_mode="r")
    np.testing.assert_array_equal(model.predict(stream), model.predict(new))


def test_training_rows_keep_their_labels(model):
    np.testing.assert_array_equal(model.predict(overlapping(9000)), model.labels_)


def test_labels_that_are_written_to_change_no_prediction(model, new):
    other = copy.copy(model)
    expected = other.predict(new)
    kept, model.labels_[:] = model.labels_.copy(), 0
    np.testing.assert_array_equal(other.predict(new), expected)
    model.labels_[:] = kept


def test_coordinates_do_not_depend_on_early_labels(model, new):
    np.testing.assert_array_equal(model.transform(new), whole_way(model).transform(new))


def test_the_rule_is_saved(model, new, tmp_path):
    pf.save(model, tmp_path / "model.polyfold")
    same = pf.load(tmp_path / "model.polyfold")
    assert (same.early_share_, same.early_disagreement_) == (model.early_share_, model.early_disagreement_)
    assert same._early.fewest == model._early.fewest
    np.testing.assert_array_equal(same.predict(new), model.predict(new))


@pytest.fixture
def looser(monkeypatch):
    """Promise less, which fewer rows can show."""
    monkeypatch.setattr("polyfold.bootstrap._early.PROMISED", 1 / 200)


def test_stacks_have_the_rule_and_no_lists_are_kept(new, looser):
    options = {"n_clusterings": "auto", "first_layer": 300}
    model = pf.BootstrapClustering(4, network=network(**options), random_state=0, n_init=5).fit(overlapping(3000))
    assert model.network_.network_.n_stacks > 1
    assert model.early_share_ > 0.5
    assert np.mean(model.predict(new) != whole_way(model).predict(new)) <= 1 / 200
    assert not hasattr(model.network_.network_, "_lists")
    assert not hasattr(network(n_clusterings=10).fit(overlapping(1200)).network_, "_lists")


def test_a_fit_from_a_checkpoint_has_the_same_rule(tmp_path, new, looser):
    model = pf.BootstrapClustering(4, network=network(first_layer=300), random_state=0, n_init=5)
    fits = [clone(model).fit(overlapping(3000), checkpoint=tmp_path) for _ in range(2)]
    assert fits[0].early_share_ == fits[1].early_share_ > 0
    np.testing.assert_array_equal(fits[0].predict(new), fits[1].predict(new))


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"noise": 0.3}, {}),
        ({}, {"neighbors": "exact"}),
        ({}, {"neighbors": "given"}),
    ],
    ids=["noise", "exact search", "given graph"],
)
def test_elsewhere_all_rows_take_the_whole_way(settings, options, monkeypatch):
    monkeypatch.setattr("polyfold.bootstrap._early.PROMISED", 0.1)
    X = overlapping(1200)
    if options.get("neighbors") == "given":
        options = {"neighbors": network(neighbors="graph").fit(X).kneighbors_graph(n_neighbors=30, mode="distance")}
    model = pf.BootstrapClustering(4, network=network(**options), random_state=0, n_init=5, **settings).fit(X)
    assert model.early_share_ == model.early_disagreement_ == 0
    assert model._early is None
    assert len(model.predict(X[:5])) == 5


def test_copies_have_one_label_however_many_there_are():
    """More copies of a place than a list holds: which of them are listed must not matter."""
    X = np.random.default_rng(0).integers(0, 3, size=(1500, 4)).astype(float)
    model = pf.BootstrapClustering(3, network=network(first_layer=0.5), n_init=3, random_state=0).fit(X)
    places = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    assert all(len(set(model.labels_[places == place])) == 1 for place in np.unique(places))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(np.concatenate([model.predict(X[i : i + 1]) for i in range(40)]), model.labels_[:40])
