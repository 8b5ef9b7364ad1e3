"""
How diverse should modules be?
==============================

Scores of modular kernel PCA on handwritten digits over λ. Run it for a picture; with the name of a result file of
``benchmarks/studies/modular.py`` it draws that one instead (the picture of the README).
"""

import json
import sys
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import polyfold as pf
from polyfold.experiments._compare import SCORES, Tasks
from polyfold.report import DiversityDisplay

GRID = (0.0, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
BASELINES = ("Partition", "Bootstrap", "Random", "Monolithic")


def from_digits():
    X, y = load_digits(return_X_y=True)
    X, Q, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    tasks = Tasks(X, y, Q, y_test)
    path = pf.ModularKernelPCA(10, 10, rank=400, random_state=0).fit(X).diversity_path(GRID)
    curve = {model.diversity: tasks.scores(model) for model in path}
    rivals = {
        name: tasks.scores(getattr(pf.baselines, f"{name}KernelPCA")(n_modules=10, n_components=10, rank=400).fit(X))
        for name in BASELINES
    }
    return curve, rivals


def from_results(path):
    quality = json.loads(Path(path).read_text())["figures"]["quality"]
    rows = {name: {score: row[score.split(",")[0]]["mean"] for score in SCORES} for name, row in quality.items()}
    curve = {float(name.split()[1]): row for name, row in rows.items() if name.startswith("MBM")}
    return curve, {name: rows[name] for name in BASELINES}


curve, rivals = from_results(sys.argv[1]) if len(sys.argv) > 1 else from_digits()
scores = {score: [row[score] for row in curve.values()] for score in SCORES}
display = DiversityDisplay(list(curve), scores, baselines=rivals, name="modular kernel PCA").plot()
display.figure_.savefig("diversity.png", dpi=130, bbox_inches="tight")
print("diversity.png")
