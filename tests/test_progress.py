"""Phases and loops of a fit, and who shows them."""

import io
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import polyfold as pf
from polyfold import KernelEmbedding, show_progress
from polyfold._progress import (
    Fit,
    ProgressDisplay,
    ProgressStep,
    RichBar,
    TqdmBar,
    _display,
    phase,
    quiet,
    track,
    watched,
)


class Recorder:
    """A watcher that records what it sees."""

    def __init__(self):
        self.seen, self.closed = [], []

    def update(self, fit):
        self.seen.append(str(fit))

    def close(self, fit, finished):
        self.closed.append(finished)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def not_shown():
    yield
    show_progress(False)


@pytest.fixture(name="X")
def some_rows(rng):
    return rng.standard_normal((40, 4))


def test_a_loop_is_counted():
    watcher = Recorder()
    with watched("fit", watchers=[watcher]):
        assert list(track("abc", "letters")) == list("abc")
    assert watcher.seen == [*(f"fit: letters {i}/3" for i in range(4)), "fit"]
    assert watcher.closed == [True]


def test_steps_are_nested():
    watcher = Recorder()
    with watched("fit", watchers=[watcher]), phase("kernel"):
        list(track(iter("ab"), "blocks"))
    blocks = [f"fit: kernel, blocks {i}" for i in range(3)]
    assert watcher.seen == ["fit: kernel", *blocks, "fit: kernel", "fit"]


def test_a_fit_within_a_fit_is_part_of_it():
    outer, inner = Recorder(), Recorder()
    with watched("outer", watchers=[outer]), phase("first"):
        with watched("silent"):
            list(track(range(1), "blocks"))
        with watched("inner", watchers=[inner]):
            list(track(range(1), "rows"))
    assert inner.seen == ["inner: rows 0/1", "inner: rows 1/1", "inner"]
    loops = [[f"outer: first, {name} 0/1", f"outer: first, {name} 1/1", "outer: first"] for name in ("blocks", "rows")]
    assert outer.seen == ["outer: first", *loops[0], *loops[1], "outer"]
    assert inner.closed == outer.closed == [True]


def test_parallel_parts_are_not_shown():
    watcher = Recorder()
    with watched("fit", watchers=[watcher]), quiet():
        list(track(range(3), "parts"))
    assert watcher.seen == []


def test_a_loop_left_by_an_error_does_not_reach_the_next_fit():
    watcher = Recorder()

    def fail():
        with watched("fit", watchers=[watcher]):
            for _ in track(range(3), "turns"):
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    assert watcher.closed == [False]
    following = Recorder()
    with watched("next", watchers=[following]):
        del caught  # only now the loop of the first fit is closed
        list(track(range(1), "own"))
    assert following.seen == ["next: own 0/1", "next: own 1/1", "next"]
    assert watcher.seen == ["fit: turns 0/3"]


def test_lines_are_ten_seconds_apart_and_end():
    now, stream = [0.0], io.StringIO()
    fit = Fit("Model", [ProgressDisplay(stream)], clock=lambda: now[0])
    step = ProgressStep("steps", 10, 0)
    fit.begin(step)
    for step.done in range(1, 11):
        now[0] = 4.0 * step.done
        fit.update()
    fit.end(step, failed=False)
    fit.close(True)
    lines = ["Model: steps 3/10", "Model: steps 6/10", "Model: steps 9/10", "Model done in 40.0 s"]
    assert stream.getvalue().splitlines() == [f"polyfold: {line}" for line in lines]


@pytest.mark.parametrize("bar", [RichBar, TqdmBar])
def test_a_bar_shows_name_phase_and_count_and_ends_with_one_line(bar):
    pytest.importorskip("rich" if bar is RichBar else "tqdm")
    stream, now = Terminal(), [0.0]
    fit = Fit("Model", [bar(stream)], clock=lambda: now[0])
    step = ProgressStep("steps", 3, 0)
    fit.begin(step)
    for step.done in (1, 2, 3):
        now[0] += 1
        fit.update()
    fit.end(step, failed=False)
    fit.close(True)
    shown = stream.getvalue()
    assert "Model: steps 2/3" in shown
    assert shown.endswith("polyfold: Model done in 3.0 s\n")


def test_nothing_is_shown_by_default():
    assert _display(False) == []
    assert len(_display(True)) == 1
    show_progress()
    assert len(_display(False)) == 1


def test_a_terminal_gets_a_bar_and_a_pipe_gets_lines(monkeypatch):
    pytest.importorskip("rich")
    pytest.importorskip("tqdm")

    def chosen():
        (display,) = _display(True)
        return type(display)

    assert chosen() is ProgressDisplay
    monkeypatch.setattr("sys.stderr", Terminal())
    for installed, expected in (([], ProgressDisplay), (["rich", "tqdm"], RichBar), (["tqdm"], TqdmBar)):
        monkeypatch.setattr("polyfold._progress.find_spec", lambda name, known=installed: name in known or None)
        assert chosen() is expected


def test_a_fit_prints_only_if_asked(capsys, X):
    KernelEmbedding().fit(X)
    assert capsys.readouterr() == ("", "")
    KernelEmbedding(verbose=1).fit(X)
    assert re.fullmatch(r"polyfold: KernelEmbedding done in [0-9.]+ s\n", capsys.readouterr().err)
    show_progress()
    KernelEmbedding().fit(X)
    show_progress(False)
    KernelEmbedding().fit(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("KernelEmbedding done") == 1


def test_loops_outside_a_fit_print_nothing(capsys):
    show_progress()
    assert list(track(range(3), "turns")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


class Broken(io.StringIO):
    """A stream without a reader."""

    def write(self, text):
        raise BrokenPipeError


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_a_fit_survives_a_broken_stream(monkeypatch, X, terminal):
    broken = Broken()
    broken.isatty = lambda: terminal
    closed = io.StringIO()
    closed.close()
    for stream in (None, broken, closed):
        monkeypatch.setattr("sys.stderr", stream)
        assert KernelEmbedding(verbose=1).fit(X).transform(X).shape == (40, 2)


@pytest.mark.parametrize("verbose", [-1, "yes", 0.5, None])
def test_a_wrong_verbose_names_rule_and_value(X, verbose):
    with pytest.raises(ValueError, match=r"verbose must be an integer >= 0, got .*; pass 1"):
        KernelEmbedding(verbose=verbose).fit(X)


def test_verbose_may_be_a_numpy_boolean(capsys, X):
    KernelEmbedding(verbose=np.False_).fit(X)
    assert capsys.readouterr().err == ""
    KernelEmbedding(verbose=np.True_).fit(X)
    assert "done" in capsys.readouterr().err


class Callback:
    """A callback of scikit-learn that records its calls."""

    def __init__(self):
        self.calls, self.models = [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(("begin", context.parent is None))

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.calls.append(("end", context.parent is None))
        self.models.append(fitted_estimator)

    def teardown(self, estimator, context):
        self.calls.append("teardown")


def clustering(**options):
    network = pf.MultilayerBootstrapNetwork(3, n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0)
    return pf.BootstrapClustering(3, network=network, random_state=0, **options)


@pytest.fixture(name="callback")
def callbacks_of_scikit_learn():
    return pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")


def test_every_phase_is_a_task_of_the_callbacks(callback, X):
    recorder = Callback()
    model = clustering().set_callbacks(recorder).fit(X)
    assert recorder.calls[:2] == ["setup", ("begin", True)]
    assert recorder.calls[-2:] == [("end", True), "teardown"]
    tasks = recorder.calls[2:-2]
    assert tasks == [("begin", False), ("end", False)] * (len(tasks) // 2)
    assert len(tasks) >= 4
    np.testing.assert_array_equal(recorder.models[-1].predict(X), model.predict(X))
    assert not [name for name in vars(model) if "ctx" in name or "teardown" in name]
    np.testing.assert_array_equal(clustering().fit(X).labels_, model.labels_)


def test_a_failed_fit_is_torn_down_and_leaves_nothing(callback, X):
    recorder = Callback()
    model = clustering().set_params(n_clusters=1000).set_callbacks(recorder)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="n_clusters"):
        model.fit(X)
    assert recorder.calls == ["setup", ("begin", True), "teardown"]
    assert vars(model) == before


def test_a_nested_model_has_its_own_callbacks(callback, X):
    outer, inner = Callback(), Callback()
    model = clustering()
    model.network.set_callbacks(inner)
    clone(model).set_callbacks(outer).fit(X)
    assert inner.calls.count(("end", False)) >= 1
    assert outer.calls.count(("end", False)) >= 1


def test_a_grid_search_passes_its_callbacks_on(callback, X):
    search = GridSearchCV(KernelEmbedding(random_state=0), {"rank": [5, 10]}, scoring=lambda *_: 0.0, cv=2)
    search.set_callbacks(callback.ProgressBar()).fit(X)


def test_the_bar_of_scikit_learn_shows_one_fit(callback, X, capsys):
    pytest.importorskip("rich")
    clustering().set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X)
    out = capsys.readouterr().out
    assert len(re.findall("BootstrapClustering - fit", out)) == 1
    assert "MultilayerBootstrapNetwork" not in out
