"""Where and how a study was run, kept beside its figures."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "faiss-cpu",
    "torch",
    "umap-learn",
    "pynndescent",
    "evoc",
    "fast_hdbscan",
)


def data_folder() -> Path:
    """Folder of the real data sets, from POLYFOLD_DATA."""
    folder = os.environ.get("POLYFOLD_DATA")
    if not folder:
        raise SystemExit(
            "POLYFOLD_DATA must name the folder of the data sets, it is not set; see docs/guide/datasets.md."
        )
    return Path(folder)


def best_of(function: Callable[[], Any], repeats: int = 3) -> float:
    """Shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def record(study: str, part: str, figures: Any) -> Path:
    """Write the figures of one part to results/<study>.json, beside those of the other parts and their commits."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{study}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    context = _context()
    whole = {
        "study": study,
        **context,
        "commits": {**known.get("commits", {}), part: context["commit"]},
        "figures": {**known.get("figures", {}), part: figures},
    }
    written = path.with_suffix(f".{os.getpid()}")
    written.write_text(_shortened(json.dumps(whole, indent=1, default=_plain)) + "\n")
    return written.replace(path)  # at once: another part may be reading


def _context() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _shortened(text: str) -> str:
    """Write every list of numbers on one line."""
    return re.sub(r"\[[-+\d.eE,\s]+\]", lambda found: "[" + " ".join(found[0][1:-1].split()) + "]", text)


def _plain(value: Any) -> Any:
    return np.asarray(value).tolist()
