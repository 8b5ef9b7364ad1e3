"""Commands and fits interrupted at random moments leave nothing half-written (`python -m tests.interrupts`)."""

import sys

import pytest

from tests import interrupts


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="signal handlers of a process are read from /proc")
def test_interrupted_commands_and_fits_are_whole_or_absent():
    commands = interrupts.COMMANDS.keys() - {"demo"}  # which takes half a minute
    outcomes, failures = {}, []
    for name, counts, wrong in interrupts.run(1, seed=0, only=[*interrupts.FITS, *sorted(commands), "checkpoint"]):
        outcomes[name] = counts
        failures += wrong
    assert failures == []
    assert set(outcomes) == {*interrupts.FITS, *commands, "checkpoint"}
    assert outcomes["checkpoint"]["interrupted"] >= 1
    assert all(outcomes[name].total() == 1 for name in commands)
