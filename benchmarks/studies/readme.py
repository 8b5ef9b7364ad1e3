"""What do the examples of the README print?

Design: run the Python blocks of README.md one after the other in one namespace, and record the output of each. `make
readme` writes it below the block.
Expected: names of axes and clusters that a reader understands; a vote that is better than the mean of its modules.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def examples(data: Path | None = None) -> list[str]:
    """Return the output of every example, in the order of the page."""
    names: dict[str, object] = {}
    printed = []
    for code in re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.DOTALL | re.MULTILINE):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(code, names)
        printed.append(output.getvalue())
    return printed


PARTS = {"examples": examples}
