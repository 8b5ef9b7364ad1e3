"""Draw the pictures of README, home page and guides again: each is a figure of an example (`make pictures`)."""

import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
# Picture -> example, and which of its figures.
PICTURES = {
    "modular": ("modules/plot_search", 1),
    "bootstrap": ("groups/plot_layers", 1),
    "map": ("groups/plot_map", 1),
    "single-cell": ("groups/plot_cells", 1),
    "embeddings": ("groups/plot_clusters", 3),
    "nonredundant": ("axes/plot_roll", 1),
    "datasets": ("start/plot_generators", 1),
    "explain": ("axes/plot_explain", 1),
}


def draw(name: str) -> Path:
    """Run the example of a picture and keep the figure."""
    example, number = PICTURES[name]
    plt.close("all")
    runpy.run_path(str(HERE.parent / "examples" / f"{example}.py"))
    path = HERE / "images" / f"{name}.png"
    plt.figure(number).savefig(path, dpi=110)
    return path


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PICTURES:
        print(draw(wanted))
