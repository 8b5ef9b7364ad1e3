"""Run studies, or parts of them (``modular bootstrap.small``; default: all), and record every part when it is done."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np

from benchmarks._record import data_folder, record


def main(names: list[str]) -> None:
    """Run every part on the data folder and write results/<study>.json after each."""
    data = data_folder()
    for name in names or sorted(p.stem for p in (Path(__file__).parent / "studies").glob("[!_]*.py")):
        study, _, wanted = name.partition(".")
        parts = importlib.import_module(f"benchmarks.studies.{study}").PARTS
        for part in [wanted] if wanted else parts:
            print(f"== {study}.{part}", flush=True)
            figures = parts[part](data)
            print(json.dumps(figures, default=lambda value: np.asarray(value).tolist(), ensure_ascii=False))
            print(f"   {record(study, part, figures)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
