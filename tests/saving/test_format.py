"""Borders of the file format: what is just allowed, and what is just refused."""

import numpy as np
import pytest
from sklearn.neighbors import BallTree, KDTree
from sklearn.preprocessing import StandardScaler

import polyfold as pf
from polyfold.exceptions import ModelFileError
from polyfold.saving import _reading
from tests.saving.forging import Forgery, parsed
from tests.saving.test_checks import X, network


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.polyfold"


def read(names, lines, path):
    path.write_bytes(Forgery(names, lines, bytearray()).packed())
    return pf.load(path)


def test_a_model_has_up_to_a_million_columns(path):
    model = pf.KernelEmbedding(2, random_state=0).fit(X)
    model._n_features_out = 10**6
    pf.save(model, path)
    assert pf.load(path)._n_features_out == 10**6
    model._n_features_out += 1
    pf.save(model, path)
    with pytest.raises(ModelFileError, match="columns"):
        pf.load(path)


@pytest.mark.parametrize("mean", [np.zeros(6), np.zeros(4), np.zeros((5, 1)), np.full(5, np.inf)])
def test_means_that_do_not_fit_the_rows_are_refused(mean, path):
    model = network().fit(X)
    vars(model.encoder_.first.bound)["mean"] = mean
    pf.save(model, path)
    with pytest.raises(ModelFileError, match="principal directions"):
        pf.load(path)


def test_given_neighbour_lists_come_back(path):
    lists = np.tile(np.array([0, -1, 39], dtype=np.int32), (40, 1))
    model = network(neighbors=5).fit(X)
    model.encoder_.first.find.given = lists
    pf.save(model, path)
    np.testing.assert_array_equal(pf.load(path).encoder_.first.find.given, lists)
    for entry in (-2, 40):
        lists[3, 1] = entry
        pf.save(model, path)
        with pytest.raises(ModelFileError):
            pf.load(path)


def test_values_are_counted_as_often_as_they_are_reached(path, monkeypatch):
    # The second list reaches the first list twice, and through it four times nothing: 6 references, and 2 of the first.
    lines = [None, ["list", 0, 0], ["list", 1, 1]]
    length = len("[]\n" + 'null\n["list", 0, 0]\n["list", 1, 1]\n')
    for limit, other, references in (("REACHED", "REACHED_BY_ALL", 6), ("REACHED_BY_ALL", "REACHED", 8)):
        monkeypatch.setattr(_reading, limit, 1)
        monkeypatch.setattr(_reading, other, 10**6)
        monkeypatch.setattr(_reading, "SMALL_FILE", 8 * references - length)
        with pytest.raises(ModelFileError, match="a list instead of a model"):
            read([], lines, path)
        monkeypatch.setattr(_reading, "SMALL_FILE", 8 * references - 1 - length)
        with pytest.raises(ModelFileError, match="contain others too many times"):
            read([], lines, path)


def test_sizes_are_bounded_by_the_file(path):
    for size, match in ((2**25, "is not a shape"), (2**24, "a ndarray instead of a model")):
        with pytest.raises(ModelFileError, match=match):
            read([], [["array", "<f8", [0, size], "C"]], path)


@pytest.mark.parametrize("dtype", ["f8,f8", "(2,)f8", "V8", "O", "S0"])
def test_dtypes_without_plain_values_are_refused(dtype, path):
    with pytest.raises(ModelFileError, match="is not a dtype of stored arrays"):
        read([], [["dtype", dtype]], path)


@pytest.mark.parametrize("dtype", ["U0", "S0", "V4", "O", "(2,)f8"])
def test_dtypes_without_plain_values_are_not_saved(dtype, path):
    model = StandardScaler()
    model.kind = np.dtype(dtype)
    with pytest.raises(TypeError, match="cannot be stored"):
        pf.save(model, path)


@pytest.mark.parametrize(
    "tree", [KDTree(X, sample_weight=np.ones(40)), BallTree(X[:, :2], metric="haversine")], ids=["weights", "metric"]
)
def test_trees_that_cannot_be_rebuilt_are_not_saved(tree, path):
    model = StandardScaler()
    model.tree = tree
    with pytest.raises(TypeError, match="has the metric"):
        pf.save(model, path)


def test_bound_methods_belong_to_the_type_of_their_name(path):
    model = pf.KernelEmbedding(2, random_state=0).fit(X)
    model.extra = model.spectrum_.coordinates
    pf.save(model, path)
    again = pf.load(path)
    assert again.extra.__self__ is again.spectrum_
    np.testing.assert_array_equal(again.extra(X), model.spectrum_.coordinates(X))
    content = parsed(path.read_bytes())
    line = next(line for line in content.lines if isinstance(line, list) and line[0] == "method")
    line[1] = content.lines.index(next(entry for entry in content.lines if not isinstance(entry, list)))
    path.write_bytes(content.packed())
    with pytest.raises(ModelFileError, match="belongs to another type"):
        pf.load(path)
