"""Run the papers' experiments: ``python -m polyfold.experiments [names] --data folder``."""

import argparse
import importlib
from pathlib import Path

EXPERIMENTS = ("reeve2018",)


def main() -> None:
    """Parse the command line and run the experiments named, or all."""
    parser = argparse.ArgumentParser(prog="polyfold.experiments", description="Reproduce the tables of the papers.")
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(EXPERIMENTS)}; all by default")
    parser.add_argument(
        "--data", type=Path, default=None, help="folder of the data sets; default POLYFOLD_DATA, else ~/polyfold_data"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(EXPERIMENTS):
        parser.error(f"unknown experiment {', '.join(sorted(unknown))}; choose from {', '.join(EXPERIMENTS)}")
    for name in arguments.names or EXPERIMENTS:
        importlib.import_module(f"polyfold.experiments.{name}").run(arguments.data)


if __name__ == "__main__":
    main()
