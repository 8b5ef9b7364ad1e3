"""What scikit-learn asks of every estimator, and what we ask on top."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

from tests.catalog import MODULAR, OTHERS, TRANSFORMERS, name, uses_graph

# The checks fit tiny and constant data on purpose; what is warned of then is documented behaviour.
CHECK_NOISE = "ignore::UserWarning"


@pytest.mark.filterwarnings(CHECK_NOISE)
@pytest.mark.parametrize("estimator", TRANSFORMERS + OTHERS, ids=name)
def test_scikit_learn_checks(estimator):
    check_estimator(estimator)


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=name)
def test_pickle_keeps_the_map(estimator, blobs):
    model = clone(estimator).fit(blobs)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(blobs), model.transform(blobs))


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=name)
def test_same_seed_same_result_for_one_and_two_threads(estimator, blobs):
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(clone(estimator).set_params(n_jobs=threads).fit(blobs).transform(blobs))
    np.testing.assert_allclose(results[0], results[1], atol=1e-6)


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=name)
def test_output_features_are_named_and_follow_set_output(estimator, blobs):
    model = clone(estimator).set_output(transform="pandas").fit(blobs)
    frame = model.transform(blobs)
    expected = [f"{type(estimator).__name__.lower()}{i}" for i in range(frame.shape[1])]
    assert list(frame.columns) == expected == list(model.get_feature_names_out())


@pytest.mark.parametrize("estimator", MODULAR, ids=name)
def test_modules_stand_side_by_side(estimator, blobs):
    model = clone(estimator).fit(blobs)
    np.testing.assert_array_equal(np.hstack(list(model.transform_modules(blobs))), model.transform(blobs))


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=name)
def test_single_precision_stays(estimator, blobs):
    single = blobs.astype(np.float32)
    assert clone(estimator).fit(single).transform(single).dtype == np.float32


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=name)
def test_works_in_a_pipeline_and_a_grid_search(estimator, blobs):
    y = np.repeat([0, 1, 2], 30)
    pipeline = make_pipeline(clone(estimator), KNeighborsClassifier(3))
    step = pipeline.steps[0][0]
    search = GridSearchCV(pipeline, {f"{step}__n_components": [2, 3]}, cv=2).fit(blobs, y)
    # Chance is a third. Graph coordinates need not separate clusters, and the catalogue's network is tiny (V = 20).
    weak = uses_graph(estimator) or "BootstrapNetwork" in repr(estimator)
    assert search.best_score_ > (0.5 if weak else 0.8)


@pytest.mark.parametrize("estimator", TRANSFORMERS + OTHERS, ids=name)
def test_wrong_number_of_features_is_told(estimator, blobs):
    model = clone(estimator).fit(blobs, np.repeat([0, 1, 2], 30))
    method = next(getattr(model, m) for m in ("transform", "predict", "kneighbors") if hasattr(model, m))
    with pytest.raises(ValueError, match="X has 4 features, but .* is expecting 5 features"):
        method(blobs[:, :4])


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=name)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_and_infinite_values_are_refused(estimator, bad, blobs):
    X = blobs.copy()
    X[3, 2] = bad
    with pytest.raises(ValueError, match="contains (NaN|infinity)"):
        clone(estimator).fit(X)


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=name)
def test_one_sample_is_refused(estimator, blobs):
    with pytest.raises(ValueError, match="1 sample"):
        clone(estimator).fit(blobs[:1])


@pytest.mark.parametrize("estimator", [e for e in TRANSFORMERS if not uses_graph(e)], ids=name)
def test_constant_data_give_zeros_and_a_warning(estimator):
    X = np.full((40, 5), 3.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Z = clone(estimator).fit(X).transform(X)
    assert caught or "KernelEmbedding" in repr(estimator) or "fourier" in repr(estimator)
    np.testing.assert_allclose(Z, 0, atol=1e-6)


@pytest.mark.parametrize("estimator", [e for e in TRANSFORMERS if not uses_graph(e)], ids=name)
def test_repeated_rows_are_harmless(estimator, blobs):
    X = np.repeat(blobs, 2, axis=0)
    Z = clone(estimator).fit(X).transform(X)
    assert np.isfinite(Z).all()
    np.testing.assert_allclose(Z[::2], Z[1::2], atol=1e-10)
