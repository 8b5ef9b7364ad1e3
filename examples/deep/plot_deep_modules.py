"""
Deep modules in torch
=====================

Any ``torch.nn.Module`` can be a module. All modules are trained together, as one batch, with early stopping on
validation rows. Here five networks fit a curve, and the diversity term is negative correlation learning.

.. note::

   This example needs PyTorch (the extra ``torch``). If this page shows no plots, PyTorch was not installed when the
   documentation was built.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits

from polyfold.networks import MLP, ModularAutoencoderNetwork, ModularRegressor, Training

epochs = 300
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    epochs = 5
# sphinx_gallery_end_ignore
torch.set_num_threads(1)

# %%
# Regression by networks that differ
# ----------------------------------

rng = np.random.default_rng(0)
x = rng.uniform(-3, 3, (150, 1))
y = np.sin(2 * x[:, 0]) + 0.3 * rng.standard_normal(150)
line = np.linspace(-3, 3, 200)[:, None]
training = Training(max_iter=epochs, learning_rate=0.01, validation_fraction=0)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for axis, diversity in zip(axes, (0.0, 0.9), strict=True):
    model = ModularRegressor(5, diversity=diversity, training=training, random_state=0).fit(x, y)
    axis.scatter(x, y, s=6, color="grey", alpha=0.5)
    for curve in model.predict_modules(line):
        axis.plot(line, curve, color="#56B4E9", lw=1)
    axis.plot(line, model.predict(line), color="#D55E00", lw=2.5)
    error = np.sqrt(np.mean((model.predict(line) - np.sin(2 * line[:, 0])) ** 2))
    axis.set(title=f"λ = {diversity}: error of the mean {error:.3f}")
plt.show()

# %%
# Your own architecture
# ---------------------
# A function of the numbers of inputs and outputs that returns a new module; here a convolution over 8 × 8 pixels.


def convolutional(n_inputs, n_outputs):
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 8, 8)),
        torch.nn.Conv2d(1, 8, 3, stride=2, padding=1),
        torch.nn.ELU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 16, n_outputs),
    )


X = load_digits().data[:600]
deep = ModularAutoencoderNetwork(
    n_modules=3,
    n_components=4,
    architecture=convolutional,
    decoder=MLP((64,)),
    diversity=0.5,
    training=Training(max_iter=max(epochs // 5, 2), learning_rate=0.01),
    random_state=0,
).fit(X)
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.plot(deep.loss_curve_, color="#0072B2", label="training rows")
axis.plot(deep.validation_curve_, color="#D55E00", label="rows held out")
axis.set(xlabel="epoch", ylabel="modular loss")
axis.legend(frameon=False)
plt.show()
