"""Where and with what numbers were computed."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("polyfold", "numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "torch", "pynndescent")
_HERE = Path(__file__).parent


def context() -> dict[str, Any]:
    """Return commit, versions and machine."""
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _commit() -> str | None:
    """Commit of the sources, with "-dirty" where they were changed since; None where they are no checkout."""
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "..")
    return f"{_git('rev-parse', '--short', 'HEAD')}{'-dirty' if changed else ''}"


def _git(*arguments: str) -> str | None:
    try:
        found = subprocess.run(["git", *arguments], cwd=_HERE, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git, no commit
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
