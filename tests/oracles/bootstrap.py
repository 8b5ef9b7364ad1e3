"""Multilayer bootstrap networks, written down literally: one-of-k vectors, all distances, an SVD."""

import numpy as np


def one_of_k(codes, k):
    """(V, n) codes to the (n, V k) matrix of indicator vectors."""
    V, n = codes.shape
    H = np.zeros((n, V * k))
    for v in range(V):
        for i in range(n):
            H[i, v * k + int(codes[v, i])] = 1.0
    return H


def similarity(x, w, metric):
    """Larger is nearer."""
    x, w = x.astype(float), w.astype(float)
    if metric == "euclidean":
        return -((x - w) ** 2).sum()
    if metric == "linear":
        return x @ w
    norms = np.linalg.norm(x) * np.linalg.norm(w)
    return x @ w / norms if norms > 0 else 0.0


def nearest_centers(points, centers, metric="euclidean"):
    """The first of the most similar centres, for every point."""
    scores = np.array([[similarity(x, w, metric) for w in centers] for x in points])
    return scores.argmax(axis=1)


def upper_layer(H, k_below, rows, chosen):
    """Nearest centres of one-of-k vectors H (n, V k_below) in the blocks of the chosen clusterings."""
    dimensions = np.concatenate([np.arange(u * k_below, (u + 1) * k_below) for u in chosen])
    selected = H[:, dimensions]
    return (selected @ selected[rows].T).argmax(axis=1)


def principal_coordinates(codes, k, n_components):
    """Scores of the centred one-of-k matrix divided by the square root of the number of clusterings."""
    H = one_of_k(codes, k) / np.sqrt(len(codes))
    U, s, _ = np.linalg.svd(H - H.mean(axis=0), full_matrices=False)
    return U[:, :n_components] * s[:n_components]


def network(X, specs, sizes, metric="euclidean"):
    """Codes of the training points in every layer, (V, n) each, from the specs of every clustering."""
    layers = [np.array([nearest_centers(X[:, d.features], X[d.rows][:, d.features], metric) for d in specs[0]])]
    for level in range(1, len(sizes)):
        H = one_of_k(layers[-1], sizes[level - 1])
        layers.append(np.array([upper_layer(H, sizes[level - 1], d.rows, d.features) for d in specs[level]]))
    return layers
