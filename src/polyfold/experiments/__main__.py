"""Run the papers' experiments: ``python -m polyfold.experiments mbm-table2 --fast``."""

from polyfold.experiments._reproduce import main

if __name__ == "__main__":
    main()
