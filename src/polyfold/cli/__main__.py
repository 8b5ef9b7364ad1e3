"""``python -m polyfold.cli``."""

from polyfold.cli import main

if __name__ == "__main__":
    main()
