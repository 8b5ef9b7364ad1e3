"""The API pages follow from what the package exports: one section per public package, one page per name.

A name that stands on the top level is documented there, else in its package; dictionaries and other values have none.
"""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import polyfold

# Public package -> title, what it is for.
SECTIONS = {
    "polyfold": ("Estimators and tools", "The main classes and functions: `import polyfold as pf`."),
    "polyfold.ensembles": ("Results of tools", "Objects that tools return. You do not need to create them yourself."),
    "polyfold.estimators": ("Further estimators", "Parts of pipelines that are not on the top level."),
    "polyfold.saving": ("Files", "Further functions for model files, next to `polyfold.save` and `polyfold.load`."),
    "polyfold.networks": (
        "Deep modules",
        'Modules that are PyTorch networks. They need PyTorch (extra `torch`): run `pip install "torch>=2.13"`.',
    ),
    "polyfold.baselines": ("Baselines", "Methods that the papers compare modules and non-redundant coordinates with."),
    "polyfold.kernels": ("Kernels", "Similarities of rows, by name or as objects, and the parts of a new kernel."),
    "polyfold.sources": (
        "Streams",
        "Files, blocks and Dask collections instead of arrays, and their memory.",
    ),
    "polyfold.metrics": ("Metrics", "Scores of representations and clusterings."),
    "polyfold.report": (
        "Plots and HTML reports",
        "They need the extra `plot`: run `pip install '.[plot]'` in the clone.",
    ),
    "polyfold.datasets": ("Data sets", "Generators with a seed."),
    "polyfold.exceptions": ("Errors and warnings", "Exceptions that you can catch, and warnings that you can silence."),
}
# Those that ``import polyfold as pf`` reaches.
PUBLIC = [f"polyfold.{name}" for name in polyfold.__all__ if f"polyfold.{name}" in SECTIONS]


def public_names() -> dict[str, list[str]]:
    """Return the names that have a page, by public package."""
    top = names_of("polyfold")
    known = {id(getattr(polyfold, name)) for name in top}
    pages = {"polyfold": top}
    # Packages that users import come first; what is left is at home where it is defined.
    for package in sorted(list(SECTIONS)[1:], key=lambda package: package not in PUBLIC):
        module = importlib.import_module(package)
        pages[package] = [name for name in names_of(package) if id(getattr(module, name)) not in known]
        known |= {id(getattr(module, name)) for name in pages[package]}
    return {package: pages[package] for package in SECTIONS if pages[package]}


def names_of(package: str) -> list[str]:
    """Return the classes and functions that a package exports or, without a list of exports, defines."""
    module = importlib.import_module(package)
    exported = getattr(module, "__all__", None) or [n for n, t in vars(module).items() if inspect.isclass(t)]
    return [n for n in exported if inspect.isclass(getattr(module, n)) or inspect.isfunction(getattr(module, n))]


def kinds(package: str, names: list[str]) -> dict[str, list[str]]:
    """Return the names under the headings Classes and Functions, where both are there."""
    module = importlib.import_module(package)
    classes = [name for name in names if inspect.isclass(getattr(module, name))]
    parts = {"Classes": classes, "Functions": [name for name in names if name not in classes]}
    return {heading: part for heading, part in parts.items() if part}


def index() -> str:
    """Return the page that leads to the sections."""
    lines = ["API", "===", "", "One page for every public class and function, inherited methods included.", ""]
    lines += [
        ".. toctree::",
        "   :maxdepth: 1",
        "   :hidden:",
        "",
        *(f"   {package}" for package in public_names()),
        "",
    ]
    lines += [".. list-table::", "   :widths: 30 70", ""]
    for package in public_names():
        title, purpose = SECTIONS[package]
        lines += [f"   * - :doc:`{title} <{package}>`", f"     - {purpose.replace('`', '``')}"]
    return "\n".join(lines) + "\n"


def section(package: str, names: list[str]) -> str:
    """Return the page of a public package."""
    title, purpose = SECTIONS[package]
    lines = [title, "=" * len(title), "", f".. module:: {package}", "", f"``{package}``. {purpose.replace('`', '``')}"]
    for heading, part in kinds(package, names).items():
        lines += ["", f".. rubric:: {heading}", "", ".. autosummary::", "   :toctree: .", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in part]
    return "\n".join(lines) + "\n"


def write(app: Any, config: Any) -> None:
    """Write the pages before autosummary looks for them, and only what changed, so that a rebuild is quick."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    names = public_names()
    pages = {"index": index()} | {package: section(package, part) for package, part in names.items()}
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    wanted = {*pages, *(f"{package}.{name}" for package, part in names.items() for name in part)}
    for path in folder.glob("*.rst"):  # of names that are gone
        if path.stem not in wanted:
            path.unlink()


def link(app: Any, docname: str, source: list[str]) -> None:
    """Turn public names that a Markdown page sets as code into links to their pages."""
    if app.env.doc2path(docname).suffix != ".md":
        return
    homes = {name: package for package, names in reversed(public_names().items()) for name in names}
    code = "|".join(homes)
    spans = re.compile(rf"(?<![`}}])`(?:(?:pf|polyfold)\.(?:\w+\.)?)?({code})`(?!`)")
    parts = re.split(r"(^```.*?^```)", source[0], flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [spans.sub(lambda m: f"{{py:obj}}`{m[1]} <{homes[m[1]]}.{m[1]}>`", part) for part in parts[::2]]
    source[0] = "".join(parts)


def setup(app: Any) -> dict[str, bool]:
    """Register."""
    app.connect("config-inited", write)
    app.connect("source-read", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
