"""Find the packages that a module imports, and the distributions that pyproject.toml declares."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
# Distributions whose import name differs from their own name.
DISTRIBUTIONS = {"sklearn": "scikit-learn", "faiss": "faiss-cpu", "PIL": "pillow", "umap": "umap-learn"}


def distribution(package: str) -> str:
    """Return the normalised name of the distribution that provides a package."""
    return DISTRIBUTIONS.get(package, package).lower().replace("_", "-")


@cache
def declared() -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """Return the distributions in the core dependencies, and those in each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    def names(requirements: list[str]) -> frozenset[str]:
        return frozenset(distribution(re.split(r"[^\w.-]", requirement)[0]) for requirement in requirements)

    extras = project["optional-dependencies"]
    return names(project["dependencies"]), {extra: names(extras[extra]) for extra in extras}


def imported(nodes: list[ast.AST]) -> set[str]:
    """Return the dotted names in the import statements and `import_extra` calls among the nodes."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_extra", "import_module")):
            found |= {arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)}
    return found


def third_party(names: set[str]) -> set[str]:
    """Return the packages of dotted names that belong neither to Python nor to polyfold."""
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"polyfold"}


def packages_of(source: str) -> set[str]:
    """Return the third-party packages that a source imports anywhere, in functions too."""
    return third_party(imported(list(ast.walk(ast.parse(source)))))


def named_extras(source: str) -> set[str]:
    """Return the extras that a source names: ``import_extra(…, "torch")``, ``polyfold[torch]`` or extra ``torch``."""
    patterns = (r'import_extra\([^)]*, "(\w+)"\)', r"polyfold\[(\w+)\]", r"extra ``(\w+)``")
    return {name for pattern in patterns for name in re.findall(pattern, source)}


def undeclared(source: str, package_source: str = "") -> set[str]:
    """Return the imported packages that are in no dependency and in no extra named by the module or its package."""
    core, extras = declared()
    named = named_extras(source) | named_extras(package_source)
    allowed = core.union(*(extras.get(extra, frozenset()) for extra in named))
    return {package for package in packages_of(source) if distribution(package) not in allowed}


def _files(name: str) -> list[Path]:
    """Return the files of polyfold that the import of a dotted name executes."""
    parts = name.split(".") if name.partition(".")[0] == "polyfold" else []
    folders = [SOURCE.joinpath(*parts[:end]) for end in range(1, len(parts) + 1)]
    candidates = [*(folder / "__init__.py" for folder in folders), *(folder.with_suffix(".py") for folder in folders)]
    return [path for path in candidates if path.exists()]


@cache
def _top_level(path: Path) -> frozenset[str]:
    return frozenset(imported(list(ast.parse(path.read_text()).body)))


@cache
def needed(path: Path) -> frozenset[str]:
    """Return the packages that must be installed to import a module of polyfold and to run its doctests."""
    examples = set(re.findall(r"^\s*>>> (?:import|from) (\w+)", path.read_text(), re.MULTILINE))
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    seen: set[Path] = set()
    waiting, names = {path, *_files(module)}, examples
    while waiting:
        seen |= waiting
        found = set().union(*(_top_level(file) for file in waiting))
        names |= found
        waiting = {file for name in found for file in _files(name)} - seen
    return frozenset(third_party(names))
