"""The command ``polyfold``: parse, call, print."""

import sys


def main() -> None:
    """Run the command line; errors are one sentence and exit code 2."""
    try:
        from polyfold.cli._main import run
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich", "pandas"):
            raise
        from polyfold._validation import install_command

        sys.stderr.write(f"{error.name} is needed for the command line; run: {install_command('cli')}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was written.\n")
        sys.exit(130)
    sys.exit(run())
