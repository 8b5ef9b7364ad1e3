"""Doctests of modules that need an extra are collected only where it is installed."""

from importlib.util import find_spec

NEEDS = {"networks": ["torch"], "export": ["onnx", "onnxruntime"], "cli": ["click", "rich", "pandas"]}

collect_ignore_glob = [
    f"src/polyfold/{package}/*" for package, modules in NEEDS.items() if not all(map(find_spec, modules))
]
