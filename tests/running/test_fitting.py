"""Fits told to scikit-learn's callbacks, where there are some."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import polyfold as pf

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")


class Recorder:
    """A callback that writes down what it hears."""

    def __init__(self):
        self.heard = []
        self.models = []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(("begin", context.parent is None))

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.heard.append(("end", context.parent is None))
        self.models.append(fitted_estimator)

    def teardown(self, estimator, context):
        self.heard.append("teardown")


@pytest.fixture(name="X")
def some_rows(rng):
    return rng.standard_normal((40, 4))


def clustering(**options):
    network = pf.MultilayerBootstrapNetwork(3, n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0)
    return pf.BootstrapClustering(3, network=network, n_init=2, random_state=0, **options)


def test_a_fit_is_a_hundred_tasks(X):
    recorder = Recorder()
    model = clustering().set_callbacks(recorder).fit(X)
    assert recorder.heard[:2] == ["setup", ("begin", True)]
    assert recorder.heard[2:-2] == [("begin", False), ("end", False)] * 100
    assert recorder.heard[-2:] == [("end", True), "teardown"]
    np.testing.assert_array_equal(recorder.models[-1].predict(X), model.predict(X))
    assert not [name for name in vars(model) if "ctx" in name or "teardown" in name]


def test_callbacks_do_not_change_the_result(X):
    np.testing.assert_array_equal(clustering().set_callbacks(Recorder()).fit(X).labels_, clustering().fit(X).labels_)


def test_a_fit_that_fails_is_torn_down_and_leaves_nothing(X):
    recorder = Recorder()
    model = clustering().set_params(n_clusters=1000).set_callbacks(recorder)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="n_clusters"):
        model.fit(X)
    assert recorder.heard == ["setup", ("begin", True), "teardown"]
    assert vars(model) == before


def test_a_model_within_has_callbacks_of_its_own(X):
    outer, inner = Recorder(), Recorder()
    model = clustering()
    model.network.set_callbacks(inner)
    clone(model).set_callbacks(outer).fit(X)
    assert inner.heard.count(("end", False)) == outer.heard.count(("end", False)) == 100


def test_a_search_passes_its_callbacks_on(X):
    bar = callback.ProgressBar()
    search = GridSearchCV(pf.KernelEmbedding(random_state=0), {"rank": [5, 10]}, scoring=lambda *_: 0.0, cv=2)
    search.set_callbacks(bar).fit(X)


def test_scikit_learns_bar_is_one_for_the_whole_fit(X, capsys):
    pytest.importorskip("rich")
    clustering().set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X)
    out = capsys.readouterr().out
    assert len(re.findall("BootstrapClustering - fit", out)) == 1
    assert "100%" in out
    assert "MultilayerBootstrapNetwork" not in out


@pytest.mark.parametrize("verbose", [-1, "yes", 0.5, None])
def test_a_wrong_verbose_names_parameter_rule_value_and_way_out(X, verbose):
    with pytest.raises(ValueError, match=r"verbose must be an integer >= 0, got .*; pass 1"):
        pf.KernelEmbedding(verbose=verbose).fit(X)
