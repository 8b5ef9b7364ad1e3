"""
Plots and an HTML report
========================

Plots of a fitted model are display classes as in scikit-learn: ``SomethingDisplay.from_estimator``.
:func:`polyfold.report.explore` writes one HTML file with linked plots, which needs no server.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import polyfold as pf
from polyfold.report import AllocationDisplay, RedundancyDisplay, RepresentationDisplay, ViewsDisplay, explore

digits = load_digits()
X, y, images = digits.data, digits.target, digits.images
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y, images = X[:300], y[:300], images[:300]
# sphinx_gallery_end_ignore
model = pf.ModularKernelPCA(4, 3, diversity=0.8, random_state=0).fit(X)

# %%
# Views side by side
# ------------------

ViewsDisplay.from_estimator(model, X, y=y)
plt.show()

# %%
# Which direction is held in how many modules
# -------------------------------------------

AllocationDisplay.from_estimator(model)
plt.show()

# %%
# Novelty of each coordinate
# --------------------------

axes = pf.NonRedundantEmbedding(4, n_neighbors=25, random_state=0).fit(X)
RedundancyDisplay.from_estimator(axes, X)
plt.show()

# %%
# A map with thumbnails
# ---------------------

RepresentationDisplay.from_estimator(axes, X, y=y, images=images)
plt.show()

# %%
# The HTML report
# ---------------
# Select points in one view and see them in all views. Change λ with the slider. Click a point to see its neighbours.

page = explore(model, X, y=y, images=images, path=Path(tempfile.mkdtemp()) / "digits.html")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB, opens without a server or a connection")
