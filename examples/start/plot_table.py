"""
A table with missing values and categories
==========================================

Distances need numbers on one scale. Three standard steps of scikit-learn prepare a table: impute missing values, scale
numbers, and encode categories. They are fitted with the model, so new rows are prepared in the same way.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import polyfold as pf

# %%
# The wine data with two columns as categories and a tenth of the values missing.

table, cultivar = load_wine(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
table["hue"] = pd.cut(table["hue"], 3, labels=["brown", "red", "blue"]).astype(object)
table["alcohol"] = pd.cut(table["alcohol"], 3, labels=["light", "medium", "strong"]).astype(object)
table = table.mask(rng.random(table.shape) < 0.1)
print(table.iloc[:4, :11].to_string())

# %%
# One pipeline from the table to clusters
# ---------------------------------------

prepare = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_include=object)),
)
train, new, _, cultivar_new = train_test_split(table, cultivar, test_size=0.3, random_state=0, stratify=cultivar)
model = make_pipeline(prepare, pf.BootstrapClustering(3, random_state=0)).fit(train)
groups = model.predict(new)
print(f"agreement with the cultivars on new rows: {adjusted_rand_score(cultivar_new, groups):.2f}")

# %%
# Coordinates of the network
# --------------------------

Z = model[:-1].transform(new)
Z = model[-1].transform(Z)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharex=True, sharey=True)
for axis, values, title in zip(axes, (groups, cultivar_new), ("clusters", "cultivars (not used)"), strict=True):
    axis.scatter(*Z[:, :2].T, c=np.array(["#0072B2", "#D55E00", "#009E73"])[values], s=28)
    axis.set(title=title, xticks=[], yticks=[])
plt.show()
