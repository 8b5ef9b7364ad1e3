"""What scikit-learn asks of every estimator, and what we ask on top."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from polyfold.exceptions import DegenerateDataWarning
from tests.catalog import ENTRIES, GRAPH, NETWORKS, ONE_EACH, entries
from tests.contracts.answers import DOCUMENTED, answers, as_dense, documented_warnings, fitted
from tests.contracts.samples import sheet

TRANSFORMERS = [e for e in ONE_EACH if e.transforms()]
MODULAR = [e for e in ENTRIES if e.has_modules()]
ROWS = [e for e in ONE_EACH if e.takes == "rows"]
# One of each class, and one that takes a kernel matrix.
CHECKED = [e for e in ONE_EACH if e.takes == "rows" or e.name == "KernelEmbedding-precomputed"]

# What scikit-learn itself leaves out, by the reason it gives; any other skipped check fails here.
SKIPS = {"check_array_api_input": "the array API is for estimators that declare it"}
# Whether it fails depends on the BLAS at hand: sums over the hidden units differ in the last digit.
FLOAT32 = {
    "check_methods_subset_invariance": "in float32 a row alone and in a batch agree to 1e-6, the check asks 1e-7"
}
TRUNCATED = {"check_estimators_dtypes": "kernel values cut to whole numbers are no kernel, and refused as such"}


@pytest.mark.slow
@pytest.mark.parametrize("entry", entries("scikit_learn", only=CHECKED), ids=repr)
def test_scikit_learn_checks(entry):
    known = FLOAT32 if entry in NETWORKS else TRUNCATED if entry.takes == "kernel" else None
    with warnings.catch_warnings():
        for category in DOCUMENTED:  # the checks fit tiny and constant data on purpose
            warnings.simplefilter("ignore", category)
        results = check_estimator(entry.new(), expected_failed_checks=known, on_fail="raise", on_skip=None)
    skipped = {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "skipped"}
    assert {name: reason for name, reason in skipped.items() if name not in SKIPS} == {}


def test_a_skipped_check_is_an_error_unless_allowed():
    """The filters let the library's documented warnings through, and not scikit-learn's about skipped checks."""
    assert not issubclass(SkipTestWarning, DOCUMENTED)


def expected_names(entry, model, width):
    """Modules and their dimensions, or numbered columns of a class."""
    if entry.has_modules():
        M, H = model._module_shape
        return [f"module{m}_dim{h}" for m in range(M) for h in range(H)]
    return [f"{type(entry.estimator).__name__.lower()}{i}" for i in range(width)]


@pytest.mark.parametrize("entry", entries("table", only=TRANSFORMERS), ids=repr)
def test_output_features_are_named_and_follow_set_output(entry):
    X = entry.given(sheet())
    with documented_warnings():
        model = fitted(entry, X)
    for library in ("pandas", "polars"):
        frame = model.set_output(transform=library).transform(X)
        assert type(frame).__module__.startswith(library)
        expected = expected_names(entry, model, frame.shape[1])
        assert list(frame.columns) == expected == list(model.get_feature_names_out())


@pytest.mark.parametrize("entry", MODULAR, ids=repr)
def test_modules_stand_side_by_side(entry):
    X = entry.given(sheet())
    with documented_warnings():
        model = fitted(entry, X)
    np.testing.assert_array_equal(np.hstack(list(model.transform_modules(X))), model.transform(X))


@pytest.fixture
def blobs(rng):
    """Three clusters in five dimensions, 90 points, and their labels."""
    centres = rng.standard_normal((3, 5)) * 1.5
    return np.concatenate([rng.standard_normal((30, 5)) + c for c in centres]), np.repeat([0, 1, 2], 30)


@pytest.mark.parametrize("entry", [e for e in TRANSFORMERS if "n_components" in e.new().get_params()], ids=repr)
def test_works_in_a_pipeline_and_a_grid_search(entry, blobs):
    X, y = blobs
    pipeline = make_pipeline(entry.new(), KNeighborsClassifier(3))
    step = pipeline.steps[0][0]
    with documented_warnings():
        search = GridSearchCV(pipeline, {f"{step}__n_components": [2, 3]}, cv=2).fit(entry.given(X), y)
    # Chance is a third. Graph coordinates and distances need not separate clusters; V = 20 and 15 epochs are few.
    strong = not any(word in entry.name for word in (*GRAPH, "distances", "Bootstrap", "shared", "Network", "poly"))
    assert search.best_score_ > (0.8 if strong else 0.45)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.takes != "rows"], ids=repr)
def test_pairs_are_cut_on_both_sides_in_cross_validation(entry):
    assert entry.estimator.__sklearn_tags__().input_tags.pairwise
    X, y = sheet(), np.arange(36) % 2
    pipeline = make_pipeline(entry.new(), KNeighborsClassifier(3))
    with documented_warnings():
        assert cross_val_predict(pipeline, entry.given(X), y, cv=2).shape == (36,)


@pytest.mark.parametrize("entry", ROWS, ids=repr)
def test_wrong_number_of_features_is_told(entry):
    with documented_warnings():
        model = fitted(entry, sheet())
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4 features"):
        answers(model, sheet()[:, :3])


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_and_infinite_values_are_refused(entry, bad):
    X = np.array(entry.given(sheet()))
    X[3, 2] = bad
    with pytest.raises(ValueError, match="contains (NaN|infinity)"):
        fitted(entry, X)


@pytest.mark.parametrize("entry", [e for e in ONE_EACH if e.minimum > 1], ids=repr)
def test_one_sample_is_refused(entry):
    X = entry.given(sheet()[:1])
    with pytest.raises(ValueError, match="1 sample"):
        fitted(entry, X)


KERNEL_OF_POINTS = [
    e for e in ENTRIES if e.transforms() and e.takes == "rows" and not any(f"-{name}" in e.name for name in GRAPH)
]


@pytest.mark.parametrize("entry", [e for e in KERNEL_OF_POINTS if e.name != "Compressed"], ids=repr)
def test_constant_data_give_zeros_and_a_warning(entry):
    X = np.full((40, 5), 3.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Z = as_dense(fitted(entry, X).transform(X))
    assert any(issubclass(w.category, DegenerateDataWarning) for w in caught)
    # The codes of nothing are the offsets of a network's layers, and directions are rows of norm one.
    if entry.name.startswith(("ModularAutoencoderNetwork", "BootstrapClustering", "KernelClustering")):
        np.testing.assert_allclose(Z, Z[:1].repeat(len(Z), axis=0), atol=1e-6)
    else:
        np.testing.assert_allclose(Z, 0, atol=1e-6)


def test_clones_share_nothing_with_the_catalogue():
    """Contracts fit copies: the catalogue stays unfitted."""
    for entry in ENTRIES:
        assert not [name for name in vars(entry.estimator) if name.endswith("_") and not name.startswith("_")]
        assert clone(entry.estimator) is not entry.estimator
