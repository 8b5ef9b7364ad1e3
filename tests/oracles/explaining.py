"""Literal versions of the formulas behind explanations: one row, one group, one word at a time."""

import numpy as np


def loo_local_line(places, y, h, ridge=1e-6, alone=1e-3):
    """Predict every y from the others by a line with Gaussian weights around its own place."""
    n = len(y)
    out = np.empty(n)
    for i in range(n):
        others = np.arange(n) != i
        d = places - places[i]
        w = np.exp(-0.5 * (d / h) ** 2)
        s0, s1, s2 = (np.sum(w[others] * d[others] ** k) for k in range(3))
        t0, t1 = (np.sum(w[others] * d[others] ** k * y[others]) for k in range(2))
        s2 += ridge * h**2 * (s0 + 1)
        with_own = s2 * (s0 + 1) - s1**2
        determinant = s2 * s0 - s1**2
        out[i] = 0.0 if determinant <= alone * with_own else (s2 * t0 - s1 * t1) / determinant
        if determinant <= alone * with_own:
            out[i] = np.mean(np.delete(y, i))
    return out


def loo_straight_line(x, y):
    """Predict every y from the straight line through the others."""
    n = len(y)
    out = np.empty(n)
    for i in range(n):
        rest = np.arange(n) != i
        slope, level = np.polyfit(x[rest], y[rest], 1)
        out[i] = slope * x[i] + level
    return out


def loo_group_mean(codes, y):
    """Predict every y by the mean of the other rows of its group, or of all other rows if it is alone."""
    out = np.empty(len(y))
    for i in range(len(y)):
        same = (codes == codes[i]) & (np.arange(len(y)) != i)
        out[i] = y[same].mean() if same.any() else np.delete(y, i).mean()
    return out


def share(y, guess):
    """Return the share of the variance of y that a prediction explains."""
    return 1 - np.sum((y - guess) ** 2) / np.sum((y - y.mean()) ** 2)


def class_tfidf(counts, labels):
    """Return (share of the words of a class) · log(1 + A / f) for each class and word."""
    classes = np.unique(labels)
    mean_words = sum(counts[labels == c].sum() for c in classes) / len(classes)
    out = np.empty((len(classes), counts.shape[1]))
    for i, c in enumerate(classes):
        own = counts[labels == c]
        for j in range(counts.shape[1]):
            out[i, j] = own[:, j].sum() / own.sum() * np.log(1 + mean_words / counts[:, j].sum())
    return out
