"""Signals at moments at which they become another error."""

import subprocess
import sys

import pytest

# A signal during the import of compiled code arrives as an ImportError.
SCRIPT = """
import os, signal, sys
from polyfold.cli import _main, main

def import_interrupted(*_, **__):
    try:
        os.kill(os.getpid(), getattr(signal, sys.argv.pop()))
    except KeyboardInterrupt as interrupt:
        raise ImportError("numpy._core.multiarray failed to import") from interrupt

signal.signal(signal.SIGINT, signal.default_int_handler)
_main.commands.main = import_interrupted
main()
"""


@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_signals_that_become_errors_keep_their_exit_code(signal, code):
    found = subprocess.run([sys.executable, "-c", SCRIPT, signal], capture_output=True, text=True)
    assert found.returncode == code, found.stderr
