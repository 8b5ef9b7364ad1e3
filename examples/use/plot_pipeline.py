"""
Pipelines and grid search
=========================

All estimators follow scikit-learn: they can be cloned, searched and put into a pipeline. Kernels and networks are
objects with their own parameters, which have names with two underscores.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polyfold as pf
from polyfold.kernels import Gaussian

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)

# %%
# Search over the kernel and the diversity
# ----------------------------------------

modules = pf.ModularKernelPCA(n_modules=8, n_components=4, kernel=Gaussian(), random_state=0)
model = make_pipeline(StandardScaler(), pf.ModularClassifier(modules, SVC()))
inside = "modularclassifier__representation__"
grid = {f"{inside}diversity": [0.0, 0.5, 0.8, 0.95], f"{inside}kernel__gamma": [0.003, 0.01, 0.03, 0.1]}
search = GridSearchCV(model, grid, cv=3).fit(X, y)
print({name.removeprefix(inside): value for name, value in search.best_params_.items()})
print(f"accuracy on new rows: {search.score(X_new, y_new):.3f}")

# %%
# Accuracy of all settings
# ------------------------

results = search.cv_results_["mean_test_score"].reshape(4, 4)
figure, axis = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
image = axis.imshow(results, cmap="viridis", aspect="auto")
axis.set(xticks=range(4), xticklabels=grid[f"{inside}kernel__gamma"], xlabel="kernel parameter γ")
axis.set(yticks=range(4), yticklabels=grid[f"{inside}diversity"], ylabel="diversity λ")
for (row, column), score in np.ndenumerate(results):
    axis.text(column, row, f"{score:.3f}", ha="center", va="center", color="w" if score < results.mean() else "k")
figure.colorbar(image, label="accuracy, cross-validated")
plt.show()

# %%
# Named columns
# -------------
# As in scikit-learn, the output can be a data frame.

tables = make_pipeline(StandardScaler(), pf.ModularKernelPCA(2, 2, random_state=0)).set_output(transform="pandas")
print(tables.fit_transform(X).head(3).round(3).to_string())
