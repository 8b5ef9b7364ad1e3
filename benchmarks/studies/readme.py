"""Do the first lines of the README tell the rule or the exception?

Design: the very example, digits clustered without labels, judged on rows that took no part; ten splits, each with a
seed of its own for all methods, ours and k-means with the same number of starts. Spectral clustering has no `predict`
and is judged on its own rows.
Expected: ours ahead on every split by more than ten points.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import polyfold as pf
from polyfold.metrics import clustering_accuracy


def example(data: Path) -> dict[str, Any]:
    """Run the example on ten splits."""
    X, y = load_digits(return_X_y=True)
    found: dict[str, list[float]] = {"ours": [], "k-means": [], "spectral, old rows": []}
    for seed in range(10):
        rows, new, y_rows, y_new = train_test_split(X, y, test_size=0.3, random_state=seed)
        ours = pf.BootstrapClustering(n_clusters=10, random_state=seed).fit(rows)
        plain = KMeans(n_clusters=10, n_init=50, random_state=seed).fit(rows)
        spectral = SpectralClustering(n_clusters=10, affinity="nearest_neighbors", random_state=seed).fit(rows)
        found["ours"].append(clustering_accuracy(y_new, ours.predict(new)))
        found["k-means"].append(clustering_accuracy(y_new, plain.predict(new)))
        found["spectral, old rows"].append(clustering_accuracy(y_rows, spectral.labels_))
    return found


PARTS = {"example": example}
