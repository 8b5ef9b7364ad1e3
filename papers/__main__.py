"""Run the papers' experiments: ``python -m papers list``, ``python -m papers mbm-table2 --fast``."""

import argparse
import sys

from papers.registry import chosen, listing
from papers.runner import reproduce

OUT = "papers-results"


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m papers", description="Run tables and figures of the papers.")
    parser.add_argument("names", nargs="+", help="experiments, papers, 'all', or 'list' to show the names")
    parser.add_argument("--fast", action="store_true", help="run a smaller version, at most two minutes each")
    parser.add_argument("--data", help="data folder (default: POLYFOLD_DATA, or ~/polyfold_data)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default: 0)")
    parser.add_argument("--out", default=OUT, help=f"folder for the results (default: {OUT})")
    parser.add_argument("--fresh", action="store_true", help="compute again instead of reusing finished cells")
    options = vars(parser.parse_args(arguments))
    if options["names"] == ["list"]:
        print(listing())
        return 0
    fast = options.pop("fast")
    try:
        chosen(options["names"])
        results = reproduce(**options, size="fast" if fast else "full")
    except ValueError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print(f"Interrupted. Run the same command to continue; {options['out']} has what is finished.", file=sys.stderr)
        return 130
    return int(all(result["missing"] and not result["cpu seconds"] for result in results))  # 1: no data set was found


if __name__ == "__main__":
    sys.exit(main())
