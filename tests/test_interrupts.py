"""Commands and fits interrupted at random moments leave nothing half-written (`python -m tests.interrupts`)."""

import sys

import pytest

from tests import interrupts


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="signal handlers of a process are read from /proc")
def test_interrupted_commands_and_fits_are_whole_or_absent():
    counts, failures = interrupts.run(1, seed=0)
    assert failures == []
    assert counts["fit"] >= 1
    assert sum(counts.values()) >= 1 + len(interrupts.COMMANDS)
