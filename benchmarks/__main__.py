"""Run the studies named on the command line (default: all) and record their results."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks._record import data_folder, record


def main(names: list[str]) -> None:
    """Run every study on the data folder and write results/<name>.json."""
    studies = sorted(p.stem for p in (Path(__file__).parent / "studies").glob("[!_]*.py"))
    for name in names or studies:
        print(f"== {name}")
        figures = importlib.import_module(f"benchmarks.studies.{name}").run(data_folder())
        print(f"   {record(name, figures)}")


if __name__ == "__main__":
    main(sys.argv[1:])
