import numpy as np
import pytest

import polyfold as pf
from polyfold import baselines, kernels
from polyfold.explaining import _loadings

KERNELS = [kernels.Gaussian(), kernels.Laplacian(), kernels.Linear(), kernels.Polynomial(degree=2), kernels.Cosine()]


@pytest.fixture(name="X")
def rows():
    return np.random.RandomState(0).randn(60, 4) * [1, 2, 0.5, 3]


CASES = [(kernel, features) for kernel in KERNELS for features in ("exact", "nystroem")]
CASES += [(kernel, "fourier") for kernel in KERNELS[:2]]  # those that are shift-invariant


@pytest.mark.parametrize(
    ("kernel", "feature_map"), CASES, ids=lambda case: case if isinstance(case, str) else type(case).__name__
)
def test_local_loadings_are_the_limits_of_finite_differences(X, kernel, feature_map):
    models = [
        pf.KernelEmbedding(3, kernel=kernel, feature_map=feature_map, rank=30, random_state=0).fit(X),
        pf.ModularKernelPCA(2, 2, kernel=kernel, feature_map=feature_map, rank=30, random_state=0).fit(X),
    ]
    points = X[:3] + 0.1
    for model in models:
        closed = [_loadings._closed(model, x, X.std(axis=0)) for x in points]
        assert all(gradient is not None for gradient in closed)
        found = pf.explain(model, X, random_state=0).local_loadings(points)
        expected = np.array([_loadings._differences(model, x, 0.01 * X.std(axis=0)) for x in points])
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    "model",
    [
        pf.NonRedundantEmbedding(2, kernel="rbf", random_state=0),
        pf.ModularAutoencoder(2, 2, random_state=0),
        baselines.SelectedEmbedding(2, kernel="rbf", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_have_loadings_by_finite_differences(X, model):
    model.fit(X)
    x, direction = X[:1] + 0.05, np.array([0.3, -0.2, 0.1, 0.4])
    loadings = pf.explain(model, X, random_state=0).local_loadings(x)[0]
    h = 1e-3
    expected = (model.transform(x + h * direction) - model.transform(x - h * direction))[0] / (2 * h)
    np.testing.assert_allclose(loadings @ direction, expected, atol=1e-3 * np.abs(expected).max())


def test_arrays_and_clusters_have_no_loadings(X):
    with pytest.raises(ValueError, match="need a fitted model"):
        pf.explain(X[:, :2], X, random_state=0).local_loadings(X[:1])
