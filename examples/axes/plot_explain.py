"""
What does an axis mean?
=======================

Images of a head that turns, nods and is lit from changing sides. :class:`polyfold.NonRedundantEmbedding` finds three
axes without labels. :func:`polyfold.explain` shows what varies along each of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import polyfold as pf
from polyfold.datasets import make_rendered_object

n = 1000
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    n = 200
# sphinx_gallery_end_ignore
X, factors = make_rendered_object(n, random_state=0)
model = pf.NonRedundantEmbedding(3, random_state=0).fit(X)
explanation = pf.explain(model, X, images=(32, 32), random_state=0)
explanation.plot("walk")
plt.show()

# %%
# Each row is a walk along one axis: seven images from low to high, whose other coordinates are near their medians. The
# generator knows the angles, so we can check what was found.
correlations = np.abs(np.corrcoef(model.embedding_.T, factors.T)[:3, 3:])
for k, row in enumerate(correlations):
    print(f"axis {k}: " + ", ".join(f"{name} {r:.2f}" for name, r in zip(("pan", "tilt", "light"), row, strict=True)))

# %%
# The pixels that tell most about each axis.
explanation.plot("axes")
plt.show()
