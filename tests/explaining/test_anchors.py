"""Explanations of data whose meaning is known; `POLYFOLD_DATA` names the folder of the files."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

import polyfold as pf

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("POLYFOLD_DATA" not in os.environ, reason="POLYFOLD_DATA names no data folder"),
]


def load(name):
    return np.load(Path(os.environ["POLYFOLD_DATA"]) / f"{name}.npz", allow_pickle=False)


def stems(text):
    """Return the words of a text without stop words and endings."""
    words = re.findall("[a-z]+", text.lower())
    return {re.sub(r"(ing|ed|es|s|e)$", "", word) for word in words if word not in ENGLISH_STOP_WORDS}


def test_markers_of_cell_types_are_those_of_the_t_test():
    """The score of scanpy's `rank_genes_groups(method="t-test")`, computed on the same matrix."""
    data = load("pbmc68k_reduced")
    X, y = data["X"].astype(np.float64), data["y"]
    table = pf.explain(y, X, random_state=0).tables["clusters"]
    overlaps = []
    for label in np.unique(y):
        inside, outside = X[y == label], X[y != label]
        errors = [part.var(axis=0, ddof=1) / len(part) for part in (inside, outside)]
        t = (inside.mean(axis=0) - outside.mean(axis=0)) / np.sqrt(sum(errors))
        own = np.flatnonzero((table["cluster"] == label) & (table["effect"] > 0))
        top = table["feature"][own[np.argsort(table["rank"][own])[:10]]]
        overlaps.append(len({f"x{j}" for j in np.argsort(-t)[:10]} & set(top)) / 10)
    assert np.mean(overlaps) >= 0.8


def test_names_of_clusters_of_questions_match_the_words_of_their_intents():
    """A name matches if it shares a word, up to its ending, with the most frequent intent of the cluster."""
    data = load("banking77_minilm")
    X, y, intents = data["X"][::3].astype(np.float32), data["y"][::3], data["names"]
    texts = data["text"][::3].tolist()
    labels = KMeans(77, n_init=1, random_state=0).fit_predict(X)
    names = pf.explain(labels, X, texts=texts, random_state=0).names
    wanted = [stems(str(intents[np.bincount(y[labels == c]).argmax()]).replace("_", " ")) for c in range(77)]
    found = [stems(names[f"cluster {c}"]) for c in range(77)]
    assert np.mean([bool(w & f) for w, f in zip(wanted, found, strict=True)]) >= 0.7
    chance = np.mean([bool(w & f) for w in wanted for f in found])
    assert chance < 0.4
    assert len(set(names.values())) == 77


def test_walks_along_axes_of_faces_follow_pan_light_and_tilt():
    data = load("isomap_faces_32")
    X, factors = data["X"].astype(np.float64), data["light_pan_tilt"]
    model = pf.NonRedundantEmbedding(3, random_state=0).fit(X)
    explanation = pf.explain(model, X, images=(32, 32), random_state=0)
    correlations = np.abs(np.corrcoef(model.embedding_.T, factors.T)[:3, 3:])
    assert correlations.argmax(axis=1).tolist() == [1, 0, 2]
    # The walks along the first two axes look like walks along pan and light, in one direction or the other.
    true = pf.explain(factors[:, [1, 0]], X, images=(32, 32), random_state=0).walk
    for found, known, least in zip(explanation.walk, true, (0.9, 0.6), strict=False):
        found, known = found - found.mean(axis=0), known - known.mean(axis=0)
        assert max(np.corrcoef(found.ravel(), way.ravel())[0, 1] for way in (known, known[::-1])) > least
