"""
Save and load a model
=====================

A model file contains arrays and parameters, no code, so loading it runs nothing. It has a checksum and the versions
that wrote it. Another process returns exactly the same values.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import polyfold as pf

X, y = load_digits(return_X_y=True)
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y = X[:300], y[:300]
# sphinx_gallery_end_ignore
folder = Path(tempfile.mkdtemp())

# %%
# Save the whole pipeline
# -----------------------

model = make_pipeline(MinMaxScaler(), pf.ModularKernelPCA(4, 2, diversity=0.8, random_state=0)).fit(X)
pf.save(model, folder / "digits.polyfold")
print(f"{(folder / 'digits.polyfold').stat().st_size / 1e6:.1f} MB")

# %%
# Load it in another process
# --------------------------

other = """
import sys, numpy as np, polyfold as pf
from sklearn.datasets import load_digits
model = pf.load(sys.argv[1])
np.save(sys.argv[2], model.transform(load_digits().data))
"""
subprocess.run([sys.executable, "-c", other, folder / "digits.polyfold", folder / "answers.npy"], check=True)
answers = np.load(folder / "answers.npy")[: len(X)]
print("equal, bit for bit:", np.array_equal(answers, model.transform(X)))

figure, axes = plt.subplots(1, 4, figsize=(10, 2.7), layout="constrained")
for number, axis in enumerate(axes):
    axis.scatter(*answers[:, 2 * number : 2 * number + 2].T, c=y, cmap="tab10", s=4)
    axis.set(title=f"module {number + 1}, drawn from the file", xticks=[], yticks=[])
    axis.title.set_fontsize(9)
plt.show()

# %%
# Damaged files raise an error
# ----------------------------

damaged = bytearray((folder / "digits.polyfold").read_bytes())
damaged[len(damaged) // 2] ^= 1
(folder / "damaged.polyfold").write_bytes(damaged)
try:
    pf.load(folder / "damaged.polyfold")
except pf.exceptions.ModelFileError as error:
    print(str(error).replace(str(folder), "…"))
