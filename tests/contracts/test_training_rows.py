"""Training rows are given back where they were, and full coordinates are the kernel."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs, make_swiss_roll

import polyfold as pf
from polyfold import baselines
from tests.catalog import ENTRIES, POINTWISE, entries
from tests.contracts.answers import as_dense, assert_close, documented_warnings, fitted
from tests.contracts.samples import sheet

TRANSFORMERS = [e for e in ENTRIES if e.transforms()]


@pytest.mark.parametrize("entry", entries("train", only=TRANSFORMERS), ids=repr)
def test_training_rows_are_reproduced(entry):
    X = entry.given(sheet())
    with documented_warnings():
        model = fitted(entry, X)
        Z = model.transform(X)
        assert_close(entry.new().fit_transform(X, entry.y(len(X))), Z, entry.precision)
    if hasattr(model, "embedding_"):
        assert_close(model.embedding_, Z, entry.precision)


@pytest.mark.parametrize("entry", entries("train", only=TRANSFORMERS), ids=repr)
def test_single_training_rows_are_reproduced(entry):
    """A row alone has the coordinates it has among all: no answer depends on its companions."""
    X = entry.given(sheet())
    with documented_warnings():
        model = fitted(entry, X)
        Z = model.transform(X)
        alone = np.vstack([as_dense(model.transform(X[i : i + 1])) for i in (0, 17, 35)])
    assert_close(alone, Z[[0, 17, 35]], entry.precision)


@cache
def data(name):
    """Return a data set as it comes, unscaled."""
    loaders = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
    if name in loaders:
        return loaders[name]().data
    if name == "swiss_roll":
        return make_swiss_roll(80, random_state=0)[0]
    return make_blobs(90, n_features=5, centers=3, random_state=0)[0]


DATA = ("iris", "wine", "breast_cancer", "swiss_roll", "blobs")
# Fits of a network; the identity holds on any data, so the small ones do.
KERNELS_AND_DATA = [
    (kernel, name) for kernel in POINTWISE for name in DATA if kernel != "shared_centers" or name in ("iris", "blobs")
]


def centred_kernel(model, X, train):
    """The centred kernel between `X` and the training rows, from its definition."""
    kernel = pf.kernels.as_kernel(model.kernel).resolve(train)
    K = np.asarray(kernel(train, train), dtype=np.float64)
    rows = np.asarray(kernel(X, train), dtype=np.float64)
    return rows - rows.mean(axis=1, keepdims=True) - K.mean(axis=0) + K.mean()


@pytest.mark.parametrize(("kernel", "name"), KERNELS_AND_DATA)
@pytest.mark.parametrize("make", [pf.KernelEmbedding, baselines.MonolithicKernelPCA])
def test_all_coordinates_together_are_the_kernel(make, kernel, name):
    X = data(name)
    model = make(len(X) - 1, kernel=POINTWISE[kernel], random_state=0)
    with documented_warnings():
        Z = model.fit(X).transform(X)
    # Directions below the rounding of K are dropped: n of them, each worth n·eps of the largest eigenvalue at most.
    assert_close(Z @ Z.T, centred_kernel(model, X, X), 1e-8)


@pytest.mark.parametrize(("kernel", "name"), [pair for pair in KERNELS_AND_DATA if pair[1] != "breast_cancer"])
def test_coordinates_of_new_points_are_the_kernel(kernel, name):
    train, new = data(name)[::2], data(name)[1::2]
    model = pf.KernelEmbedding(len(train) - 1, kernel=POINTWISE[kernel], random_state=0)
    with documented_warnings():
        model.fit(train)
        found = model.transform(new) @ model.transform(train).T
    # A new point is projected on the span of the training points, which keeps its products with them.
    assert_close(found, centred_kernel(model, new, train), 1e-6)


@pytest.mark.parametrize("name", ["iris", "wine", "swiss_roll"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize(
    "make",
    [pf.NonRedundantEmbedding, baselines.RandomKernelPCA, baselines.BootstrapKernelPCA, baselines.MonolithicKernelPCA],
)
def test_coordinates_are_no_larger_than_the_kernel_allows(make, kernel, name):
    """‖z(x)‖² ≤ k(x, x) = 1 for projections of a Gaussian feature map, up to the offsets of centring."""
    with documented_warnings():
        Z = make(random_state=0, kernel=kernel).fit_transform(data(name))
    assert np.abs(Z).max() < 2 + 1e-6
