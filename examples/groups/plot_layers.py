"""
From fine to coarse: the layers of a network
============================================

Every layer of a bootstrap network has half as many centres as the one below. Small variations disappear first. A
plot of each layer shows where groups merge.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import polyfold as pf

X, y = load_digits(return_X_y=True)
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y = X[:500], y[:500]
# sphinx_gallery_end_ignore
network = pf.MultilayerBootstrapNetwork(2, n_classes=10, random_state=0).fit(X)
sizes = network.layer_sizes_

figure, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
for layer, axis in enumerate(axes.flat):
    if layer >= len(sizes):
        axis.axis("off")
        continue
    picture = network.at_layer(layer).embedding_
    axis.scatter(*picture.T, c=y, cmap="tab10", s=4)
    axis.set(title=f"layer {layer + 1}: {sizes[layer]} centres", xticks=[], yticks=[])
plt.show()

# %%
# New rows can be transformed to any layer.

print(network.at_layer(2).transform(X[:3]).round(2))
