"""Commands and fits interrupted at random moments leave nothing half-written (`python -m tests.interrupts`)."""

import sys

import pytest

from tests import interrupts


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="signal handlers of a process are read from /proc")
def test_interrupted_commands_and_fits_are_whole_or_absent():
    outcomes, failures = {}, []
    for name, counts, wrong in interrupts.run(1, seed=0):
        outcomes[name] = counts
        failures += wrong
    assert failures == []
    assert set(outcomes) == {*interrupts.FITS, *interrupts.COMMANDS, "checkpoint"}
    assert outcomes["checkpoint"]["interrupted"] >= 1
    assert all(outcomes[name].total() == 1 for name in interrupts.COMMANDS)
