import io
import logging
import re

import numpy as np
import pytest

from polyfold import KernelEmbedding, show_progress
from polyfold._running import track
from polyfold._running._display import Bar, Lines, describe, displays, duration
from polyfold._running._progress import Job


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def not_shown():
    yield
    show_progress(False)


def a_job(watcher, times):
    """A job of ten equal steps whose clock shows these times."""
    clock = iter(times)
    now = [next(clock)]
    job = Job("Model", [watcher], clock=lambda: now[0])
    for step, now[0] in enumerate(clock, start=1):
        job.reach(step / 10, f"steps {step}/10")
    watcher.close(job)
    return job


def test_a_bar_is_one_line_that_ends():
    stream = Terminal()
    a_job(Bar(stream), range(11))
    pictures = stream.getvalue().split("\r")[1:]
    assert len(pictures) == 11
    assert "\n" not in "".join(pictures[:-1])
    assert pictures[4].startswith("Model [############............] 50 %, steps 5/10, 5 s left")
    assert pictures[-1].rstrip(" \n") == "Model [########################] done in 10 s"
    assert stream.getvalue().endswith("\n")


def test_a_bar_is_drawn_ten_times_a_second_at_most():
    stream = Terminal()
    a_job(Bar(stream), [i / 100 for i in range(11)])
    assert stream.getvalue().count("\r") <= 3


def test_a_bar_fits_its_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    a_job(Bar(stream), range(11))
    assert max(map(len, stream.getvalue().split("\r"))) <= 30


def test_lines_are_sparse_and_end():
    lines = []
    a_job(Lines(lines.append), range(0, 44, 4))
    assert lines == [
        "Model 30 %, steps 3/10, 28 s left",
        "Model 60 %, steps 6/10, 16 s left",
        "Model 90 %, steps 9/10, 4 s left",
        "Model done in 40 s",
    ]


def test_nothing_is_finished_before_the_end():
    now = [0.0]
    job = Job("Model", [], clock=lambda: now[0])
    now[0] = 50.0
    job.reach(0.99999, "last")
    assert describe(job) == "99 %, last, 1 s left"


def test_a_stopped_job_says_so():
    lines = []
    job = Job("Model", [], clock=lambda: 0.0)
    job.reach(0.4, "")
    Lines(lines.append).close(job)
    assert lines == ["Model stopped at 40 % after 0 s"]


def test_times_have_their_unit():
    assert [duration(s) for s in (1, 99, 120, 3600, 90_000)] == ["1 s", "99 s", "2 min", "1 h 0 min", "25 h 0 min"]


def test_nobody_looks_unless_asked():
    assert displays(False) == []
    assert len(displays(True)) == 1
    show_progress()
    assert len(displays(False)) == 1
    show_progress(False)
    assert displays(False) == []


def test_a_terminal_gets_a_bar_and_a_pipe_lines(monkeypatch, capsys):
    assert isinstance(displays(True)[0], Lines)
    monkeypatch.setattr("sys.stderr", Terminal())
    assert isinstance(displays(True)[0], Bar)


def test_a_fit_prints_nothing_by_itself(capfd, rng):
    KernelEmbedding().fit(rng.standard_normal((30, 3)))
    assert capfd.readouterr() == ("", "")


def test_a_fit_prints_when_asked(capsys, rng):
    X = rng.standard_normal((30, 3))
    KernelEmbedding(verbose=1).fit(X)
    assert re.fullmatch(r"polyfold: KernelEmbedding done in [0-9.]+ s\n", capsys.readouterr().err)
    show_progress()
    KernelEmbedding().fit(X)
    show_progress(False)
    KernelEmbedding().fit(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("KernelEmbedding done") == 1


def test_the_log_gets_the_lines(caplog, rng):
    with caplog.at_level(logging.INFO, logger="polyfold"):
        KernelEmbedding().fit(rng.standard_normal((30, 3)))
    assert [message.split(" in ")[0] for message in caplog.messages] == ["KernelEmbedding done"]


def test_loops_outside_a_fit_say_nothing(capsys):
    show_progress()
    assert list(track(range(3), "turns")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


class Gone(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, text):
        raise BrokenPipeError


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_a_fit_survives_those_who_looked(monkeypatch, rng, terminal):
    X = rng.standard_normal((30, 3))
    gone = Gone()
    gone.isatty = lambda: terminal
    closed = io.StringIO()
    closed.close()
    for stream in (None, gone, closed):
        monkeypatch.setattr("sys.stderr", stream)
        assert KernelEmbedding(verbose=1).fit(X).transform(X).shape == (30, 2)


def test_verbose_may_be_any_truth_value(capsys, rng):
    X = rng.standard_normal((30, 3))
    KernelEmbedding(verbose=np.False_).fit(X)
    assert capsys.readouterr().err == ""
    KernelEmbedding(verbose=np.True_).fit(X)
    assert "done" in capsys.readouterr().err
    with pytest.raises(ValueError, match="verbose must be an integer >= 0, got -1"):
        KernelEmbedding(verbose=-1).fit(X)
