"""Signals at moments at which an exception would be lost or changed."""

import subprocess
import sys

import pytest

SCRIPTS = {
    # During the import of compiled code, an exception becomes an ImportError.
    "import": """
        try:
            os.kill(os.getpid(), getattr(signal, sys.argv.pop()))
        except BaseException:
            raise ImportError("numpy._core.multiarray failed to import")
    """,
    # In the callback of a weak reference, as importlib has, Python ignores an exception.
    "callback": """
        number = getattr(signal, sys.argv.pop())
        ref = weakref.ref(rows := {1}, lambda _: os.kill(os.getpid(), number))
        del rows
    """,
    # While a file is written, the old one stays and the temporary one goes.
    "writing": """
        from polyfold._files import replacing
        with replacing("out.csv") as temporary:
            temporary.write_text("new")
            os.kill(os.getpid(), getattr(signal, sys.argv.pop()))
    """,
}
RUN = """
import os, signal, sys, weakref
from polyfold.cli import _main, main

def work(*_, **__):
{}

signal.signal(signal.SIGINT, signal.default_int_handler)
_main.commands.main = work
main()
"""


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_signals_end_the_command_at_every_moment(signal, code, script, tmp_path):
    (tmp_path / "out.csv").write_text("old")
    text = RUN.format(SCRIPTS[script].replace("\n    ", "\n"))
    found = subprocess.run([sys.executable, "-c", text, signal], cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == code, found.stderr
    assert found.stderr == "interrupted; unfinished outputs were removed.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"
