"""Forged model files neither crash nor hang the process that loads them, nor fill its memory."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.saving import fuzz

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # no thread runs that matters


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
def test_forged_files_do_no_harm():
    done = subprocess.run(
        [sys.executable, "-m", "tests.saving.fuzz", "--cases", "200"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "200 cases" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="as above")
@pytest.mark.parametrize(
    ("harm", "outcome"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "crash: -9"),
        (lambda: signal.pause(), "hang"),
        (lambda: os.system("true"), "code"),
        (lambda: Path("written").write_text(""), "code"),
        (lambda: 3, "answered"),
    ],
)
def test_harm_is_seen(monkeypatch, tmp_path, harm, outcome):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fuzz, "SECONDS", 2)
    monkeypatch.setattr(fuzz, "case", lambda number, *_: ("", b"", None))
    monkeypatch.setattr(fuzz, "run_case", lambda *_: harm() and ("answered", 0))
    assert list(fuzz.run_batch(range(2), 0, [], tmp_path / "case")) == [(0, outcome, 0), (1, outcome, 0)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="as above")
def test_a_flood_of_memory_is_seen(monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz, "case", lambda number, *_: ("", b"1234", None))
    monkeypatch.setattr(fuzz, "run_case", lambda *_: ("refused", 300 * 2**20))
    ((_, outcome, _),) = fuzz.run_batch([0], 0, [], tmp_path / "case")
    assert outcome == "memory: 300 MB"
