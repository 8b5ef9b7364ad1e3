"""``python -m polyfold``: the command line."""

from polyfold.cli import main

if __name__ == "__main__":
    main()
