"""
Clusters of texts
=================

The texts are a thousand docstrings of SciPy. Word counts stay sparse, the distance is the cosine, and the clusters
are found without labels.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score

import polyfold as pf
from polyfold.metrics import average_accuracy_curve

# %%
# The texts
# ---------

subjects = ["cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "stats"]
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    subjects = subjects[:4]
# sphinx_gallery_end_ignore
texts, subject, seen = [], [], set()
for number, name in enumerate(subjects):
    module = importlib.import_module(f"scipy.{name}")
    for member in module.__all__:
        text = inspect.getdoc(getattr(module, member)) or ""
        if len(text) > 300 and text not in seen:
            seen.add(text)
            texts.append(text)
            subject.append(number)
subject = np.array(subject)
words = TfidfVectorizer(min_df=3, max_df=0.3, stop_words="english", token_pattern=r"[a-z]{3,}")
X = words.fit_transform(texts)
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} words in a text")

# %%
# Coordinates
# -----------

network = pf.MultilayerBootstrapNetwork(
    len(subjects), n_classes=len(subjects), metric="cosine", decay=0.7, random_state=0
).fit(X)
Z = network.embedding_

from sklearn.decomposition import TruncatedSVD

rival = TruncatedSVD(len(subjects), random_state=0).fit_transform(X)

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, coordinates, colour in (("bootstrap network", Z, "#0072B2"), ("latent semantic analysis", rival, "#D55E00")):
    counts, share = average_accuracy_curve(coordinates, subject)
    axis.plot(counts, share, "o-", color=colour, label=name)
axis.set(xscale="log", xlabel="number of nearest texts", ylabel="fraction on the same subject")
axis.legend(frameon=False)
plt.show()

# %%
# Words of each cluster
# ---------------------
# The words that are most typical of each cluster.

groups = pf.BootstrapClustering(len(subjects), network=network, random_state=0).fit(X).labels_
print(f"agreement with SciPy's own division (NMI): {normalized_mutual_info_score(subject, groups):.2f}")
vocabulary = words.get_feature_names_out()
for group in range(len(subjects)):
    inside = np.asarray(X[groups == group].mean(axis=0)).ravel()
    outside = np.asarray(X[groups != group].mean(axis=0)).ravel()
    typical = vocabulary[np.argsort(outside - inside)[:6]]
    print(f"{np.sum(groups == group):4d} texts: {', '.join(typical)}")
