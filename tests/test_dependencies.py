"""Every imported package is declared in pyproject.toml, and every import of an extra names the extra."""

import pytest

from tests.imports import SOURCE, declared, needed, packages_of, undeclared


def test_every_import_is_declared():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.parent / "__init__.py"
        missing = undeclared(path.read_text(), package.read_text())
        if missing:
            found[str(path.relative_to(SOURCE))] = sorted(missing)
    assert found == {}


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("import yaml", {"yaml"}),
        ("def f():\n    from yaml.nodes import Node", {"yaml"}),
        ("import torch", {"torch"}),  # in an extra that the module does not name
        ('import_extra("torch", "faiss")', {"torch"}),  # in another extra than the named one
        ('import_extra("torch", "torch")', set()),
        ('"""Train networks (extra ``torch``)."""\nimport torch', set()),
        ("import numpy, os\nfrom sklearn import base\nfrom polyfold import kernels", set()),
    ],
)
def test_undeclared_imports_are_found(source, missing):
    assert undeclared(source) == missing


def test_imports_in_functions_and_calls_count():
    source = "import os\ndef f():\n    import a.b\n    from c import d\n    import_extra('e.f', 'x')"
    assert packages_of(source) == {"a", "c", "e"}


def test_the_name_of_an_extra_may_stand_in_the_package():
    assert undeclared("import torch", "polyfold[torch]") == set()


def test_doctests_need_what_their_module_imports_directly_or_through_another():
    assert "torch" in needed(SOURCE / "polyfold/training/_loop.py")
    assert "torch" not in needed(SOURCE / "polyfold/training/__init__.py")
    assert "click" in needed(SOURCE / "polyfold/cli/_main.py")


def test_a_core_install_can_import_every_public_package():
    core = {"numpy", "scipy", "sklearn", "numba", "joblib", "skops", "threadpoolctl"}
    packages = [
        path for path in (SOURCE / "polyfold").glob("*/__init__.py") if path.parent.name not in ("cli", "tables")
    ]
    assert packages
    assert {str(path): extra for path in packages if (extra := needed(path) - core)} == {}
    assert "scikit-learn" in declared()[0]
