"""The gallery, which runs every script of `examples/`: its settings, and links to scripts as links to their pages."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Folder of examples -> place in the gallery.
ORDER = ["start", "axes", "groups", "modules", "deep", "use"]


def executed(examples: Path) -> str:
    """Return the pattern of the examples that run: without torch, those that import it are shown but not run."""
    if find_spec("torch"):
        return "/plot_"
    needs_torch = [path.stem for path in examples.rglob("plot_*.py") if "\nimport torch" in path.read_text()]
    return f"/plot_(?!({'|'.join(stem.removeprefix('plot_') for stem in needs_torch)}))"


def gallery_conf(docs: Path) -> dict[str, Any]:
    """Return the settings."""
    examples = docs.parent / "examples"
    return {
        "examples_dirs": "../examples",
        "gallery_dirs": "gallery",
        "filename_pattern": executed(examples),
        "subsection_order": [f"../examples/{name}" for name in ORDER if (examples / name).is_dir()],
        "within_subsection_order": "FileNameSortKey",
        "nested_sections": False,
        "abort_on_example_error": True,
        "download_all_examples": False,
        "write_computation_times": False,  # its page would fetch scripts from elsewhere
        "show_memory": False,
        "show_signature": False,
        "remove_config_comments": True,
        "backreferences_dir": None,
        "reference_url": {},
        "plot_gallery": "True",
        "matplotlib_animations": False,
        "copyfile_regex": "",
    }


def link(app: Any, docname: str, source: list[str]) -> None:
    """Let links of a Markdown page to an example lead to its page in the gallery."""
    if app.env.doc2path(docname).suffix == ".md":
        source[0] = re.sub(r"\]\(((?:\.\./)*)\.\./examples/(\w+/\w+)\.py\)", r"](\1gallery/\2.rst)", source[0])


def setup(app: Any) -> dict[str, bool]:
    """Register."""
    app.connect("source-read", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
