"""
Replace a large model by a small one
====================================

A bootstrap network keeps its training rows and all codes. A student network of two layers learns to reproduce its
output. Only the student has to be deployed, as a model of this library or as an ONNX graph.
"""

import pickle
import time

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import polyfold as pf

X, y = load_digits(return_X_y=True)
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y = X[:500], y[:500]
# sphinx_gallery_end_ignore
X, X_new, y, y_new = train_test_split(X.astype("float32"), y, test_size=0.3, random_state=0)

# %%
# Teacher and student
# -------------------

teacher = pf.MultilayerBootstrapNetwork(10, n_classes=10, random_state=0).fit(X)
student = pf.Compressed(teacher, random_state=0).fit(X, target=teacher.embedding_)
print(f"the student explains {100 * student.fidelity_:.0f} % of the teacher's output for new rows")


def cost(model):
    start = time.perf_counter()
    model.transform(X_new)
    return time.perf_counter() - start


for name, model in {"teacher": teacher, "student": student.student_}.items():
    size = len(pickle.dumps(model)) / 1e6
    print(f"{name}: {size:.1f} MB")
teacher.transform(X_new[:5])  # compiled on first use
print(f"the student answers in {100 * cost(student) / cost(teacher):.0f} % of the teacher's time")

# %%
# Coordinates of both
# -------------------

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True)
for axis, (name, model) in zip(axes, {"teacher": teacher, "student": student}.items(), strict=True):
    axis.scatter(*model.transform(X_new)[:, :2].T, c=y_new, cmap="tab10", s=8)
    axis.set(title=f"{name}, new digits", xticks=[], yticks=[])
plt.show()

# %%
# Without Python: ONNX
# --------------------

graph = pf.to_onnx(student).SerializeToString()
session = onnxruntime.InferenceSession(graph)
coordinates = session.run(["Z"], {"X": X_new})[0]
error = np.abs(coordinates - student.transform(X_new)).max() / np.abs(coordinates).max()
print(f"{len(graph) / 1e6:.2f} MB; largest difference to the student {error:.0e} of the largest coordinate")
