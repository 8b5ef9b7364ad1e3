"""Short names from effects: "income high, visits low", or "card, arrived, waiting"; no two groups have the same."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Cohen's small effect: features with a smaller one, by the end of the interval nearer to zero, give no name.
SMALL = 0.2
# Phrases of a name, and how many more may be added to distinguish two groups.
FEATURES, WORDS, MOST = 2, 3, 6
# Features with a larger correlation are redundant.
SAME = 0.95
# Regions of images: the thirds of their rows and columns that they cover.
REGIONS = {
    "overall": ((0, 1, 2), (0, 1, 2)),
    "left": ((0, 1, 2), (0,)),
    "right": ((0, 1, 2), (2,)),
    "top": ((0,), (0, 1, 2)),
    "bottom": ((2,), (0, 1, 2)),
    "centre": ((1,), (1,)),
    "top left": ((0,), (0,)),
    "top right": ((0,), (2,)),
    "bottom left": ((2,), (0,)),
    "bottom right": ((2,), (2,)),
}


def word_phrases(scores: NDArray, vocabulary: Sequence[str]) -> list[str]:
    """Return the words with the highest scores, none of which repeats a word, or a form of it, of an earlier one."""
    phrases: list[str] = []
    used: list[str] = []
    for j in np.argsort(-scores, kind="stable")[: 20 * MOST].tolist():
        parts = vocabulary[j].split()
        if scores[j] > 0 and not any(_same_word(a, b) for a in parts for b in used):
            phrases.append(str(vocabulary[j]))
            used += parts
        if len(phrases) == MOST:
            break
    return phrases


def _same_word(a: str, b: str) -> bool:
    """Whether two words are equal except for their last letters: "card" and "cards", "exchanges" and "exchanging"."""
    shorter = min(len(a), len(b))
    return a == b or (shorter >= 4 and a[: max(4, shorter - 2)] == b[: max(4, shorter - 2)])


def unique_names(phrases: dict[str, list[str]], length: int, nothing: str) -> dict[str, str]:
    """Return one name for each key, `length` phrases or as many more as it takes; the last resort is the key itself."""
    size = {key: min(length, len(parts)) for key, parts in phrases.items()}

    def name(key: str) -> str:
        return ", ".join(phrases[key][: size[key]]) if size[key] else nothing

    while True:
        groups: dict[frozenset[str], list[str]] = {}
        for key, parts in phrases.items():  # "a, b" and "b, a" are the same name
            groups.setdefault(frozenset(parts[: size[key]]), []).append(key)
        longer = [key for keys in groups.values() if len(keys) > 1 for key in keys if size[key] < len(phrases[key])]
        if not longer:
            break
        for key in longer:
            size[key] += 1
    shared = {key for parts, keys in groups.items() if len(keys) > 1 or not parts for key in keys}
    return {key: f"{name(key)} ({key})" if key in shared else name(key) for key in phrases}


def axis_names(phrases: dict[str, list[str]], length: int, *, replaces: bool = False) -> dict[str, str]:
    """Return the names of both ends of every axis, given one after the other.

    The two ends of an axis have different names, and no two axes have the same names at both ends if more phrases make
    them different. These follow the first ones, or replace them.
    """
    keys = list(phrases)
    pairs = list(zip(keys[::2], keys[1::2], strict=True))
    sizes = [length] * len(pairs)
    while True:
        names = []
        for pair, size in zip(pairs, sizes, strict=True):
            used = {key: phrases[key][size - length :] if replaces else phrases[key] for key in pair}
            names.append(unique_names(used, length if replaces else size, "no feature explains it"))
        texts = [frozenset(pair_names.values()) for pair_names in names]  # the direction of an axis is arbitrary
        longest = [(min if replaces else max)(len(phrases[key]) for key in pair) for pair in pairs]
        longer = [k for k, text in enumerate(texts) if texts.count(text) > 1 and sizes[k] < longest[k]]
        if not longer:
            return {key: name for pair_names in names for key, name in pair_names.items()}
        for k in longer:
            sizes[k] += 1


def repeats_of(X: NDArray) -> NDArray:
    """Return which columns of `X` (n, D) have a correlation above 0.95, in absolute value, shape (D, D)."""
    S = X - X.mean(axis=0)
    S /= np.maximum(np.sqrt(np.sum(S**2, axis=0)), np.finfo(float).tiny)
    return np.abs(S.T @ S) > SAME


def region_means(X: NDArray, shape: tuple[int, int]) -> tuple[NDArray, list[str]]:
    """Return the mean brightness of regions of images (n, height · width), and the names of the regions."""
    rows, columns = (np.arange(size) * 3 // size for size in shape)
    means = {}
    for name, (down, across) in REGIONS.items():
        pixels = (np.isin(rows, down)[:, None] & np.isin(columns, across)).ravel()
        if pixels.any():
            means[name] = X[:, pixels].mean(axis=1)
    return np.column_stack(list(means.values())), list(means)
