"""Collect doctests only from modules whose packages are installed, and mark those that need torch."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.imports import SOURCE, declared, distribution, needed


def is_module(path: Path) -> bool:
    """Return whether a path is a module of polyfold."""
    return path.suffix == ".py" and path.is_relative_to(SOURCE)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore a module if an extra that it needs is missing; a missing core dependency stays an error."""
    if not is_module(collection_path):
        return None
    optional = frozenset().union(*declared()[1].values())
    missing = {package for package in needed(collection_path) if find_spec(package) is None}
    return True if missing and {distribution(package) for package in missing} <= optional else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the doctests of modules that import torch."""
    if is_module(item.path) and "torch" in needed(item.path):
        item.add_marker("torch")
