"""
Image patches
=============

Codes for patches of two photographs that come with scikit-learn. Each module reconstructs a part of the variation.
Together they reconstruct as much as one large code.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d

import polyfold as pf

pictures = [image[::2, ::2].mean(axis=2) / 255 for image in load_sample_images().images]
n_patches, step = 6000, 1
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    pictures, n_patches = [picture[::2, ::2] for picture in pictures], 500
# sphinx_gallery_end_ignore
temple, flower = pictures
patches = extract_patches_2d(temple, (8, 8), max_patches=n_patches, random_state=0).reshape(-1, 64)

# %%
# Fit on one image
# ----------------
# Each module keeps 4 of 64 dimensions.

modules = pf.ModularAutoencoder(n_modules=6, n_components=4, diversity=0.95, random_state=0).fit(patches)
print(f"loss {modules.loss_:.4g}, with lower bound {modules.loss_bound_:.4g}")

# %%
# Use it on the other image
# -------------------------
# The mean of all modules reconstructs more than a single module.


def rebuilt(answers):
    return reconstruct_from_patches_2d(answers.reshape(-1, 8, 8), flower.shape)


cut = extract_patches_2d(flower, (8, 8)).reshape(-1, 64)
views = {
    "the picture": flower,
    "one module, 4 numbers": rebuilt(modules.reconstruct_modules(cut)[0]),
    "six modules, 24 numbers": rebuilt(modules.inverse_transform(modules.transform(cut))),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained")
for axis, (name, view) in zip(axes, views.items(), strict=True):
    error = np.sqrt(np.mean((view - flower) ** 2))
    axis.imshow(view, cmap="gray", vmin=0, vmax=1)
    axis.set(title=name if view is flower else f"{name}\nerror {error:.3f}", xticks=[], yticks=[])
plt.show()

# %%
# Components of the modules
# -------------------------
# One row per module, one column per dimension. With λ = 0, all rows would be equal.

atoms = np.array([decoder.T.reshape(-1, 8, 8) for decoder in modules.decoders_])
figure, axes = plt.subplots(*atoms.shape[:2], figsize=(4.2, 6), layout="constrained")
for row, row_axes in zip(atoms, axes, strict=True):
    for atom, axis in zip(row, row_axes, strict=True):
        axis.imshow(atom, cmap="PuOr", vmin=-np.abs(atom).max(), vmax=np.abs(atom).max())
        axis.set(xticks=[], yticks=[])
plt.show()
