"""What a module holds more strongly than the others: features, directions of the kernel, and pairs of rows."""

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import eigh_descending, sample_rows, squared_distances
from polyfold.explaining._features import Features, stacked
from polyfold.explaining._strengths import centred

# Directions of all modules together that are compared, and rows whose pairs are.
DIRECTIONS, ROWS = 10, 300
# Words whose strengths are computed, the most frequent ones.
MODULE_WORDS = 500


def linear_fractions(Z: NDArray, Y: NDArray) -> NDArray:
    """Return the fraction of the variance of each column of `Y` (n, t) that linear functions of `Z` (n, h) explain.

    The regression leaves out the row it predicts: errors are divided by one minus the leverage.
    """
    n = len(Z)
    U, s, _ = np.linalg.svd(np.column_stack([np.ones(n), centred(Z)]), full_matrices=False)
    U = U[:, s > 1e-9 * s[0]]
    leverage = np.minimum(np.sum(U**2, axis=1), 1 - 1 / n)[:, None]
    Y = centred(Y)
    errors = (Y - U @ (U.T @ Y)) / (1 - leverage)
    total = np.maximum(np.sum(Y**2, axis=0), np.finfo(float).tiny)
    return np.clip(1 - np.sum(errors**2, axis=0) / total, 0, 1)


def main_directions(modules: NDArray) -> NDArray:
    """Return the first principal coordinates of all modules together, (n, d): the directions of their mean kernel."""
    whole = np.hstack(list(modules)).astype(np.float64)
    whole = whole - whole.mean(axis=0)
    _, axes = eigh_descending(whole.T @ whole, min(DIRECTIONS, whole.shape[1]))
    return whole @ axes


def separated_pairs(modules: NDArray, count: int, rng: np.random.RandomState) -> list[NDArray]:
    """Return for each module the pairs of rows (count, 2) that are far apart in it and near in all other modules.

    Distances are divided by their root mean square in each module. Pairs are sought among 300 rows at most.
    """
    rows = sample_rows(modules.shape[1], ROWS, rng)
    first, second = np.triu_indices(len(rows), 1)
    distances = []
    for Z in modules:
        d2 = squared_distances(Z[rows].astype(np.float64), Z[rows].astype(np.float64))[first, second]
        distances.append(np.sqrt(d2 / max(float(d2.mean()), np.finfo(float).tiny)))
    pairs = []
    for m, inside in enumerate(distances):
        others = np.mean([d for i, d in enumerate(distances) if i != m], axis=0) if len(distances) > 1 else 0 * inside
        best = np.argsort(others - inside, kind="stable")[:count]
        pairs.append(np.column_stack([rows[first[best]], rows[second[best]]]))
    return pairs


def module_parts(
    features: Features, modules: NDArray, count: int, rng: np.random.RandomState
) -> tuple[dict[str, NDArray], dict[str, list[str]], dict[str, NDArray]]:
    """Return the table of modules, the phrases of their names, and the pairs of rows that each separates."""
    values, labels = _columns_of(features)
    directions = main_directions(modules)
    labels = [*labels, *((f"direction {d}", "direction") for d in range(directions.shape[1]))]
    Y = np.hstack([values, directions])
    fractions = np.vstack([linear_fractions(Z, Y) for Z in modules])  # (M, features)
    others = (fractions.sum(axis=0) - fractions) / max(len(modules) - 1, 1)
    pairs = {f"module {m}": rows for m, rows in enumerate(separated_pairs(modules, count, rng))}
    phrases, columns = {}, []
    for m, advantage in enumerate(fractions - others):
        order = np.argsort(-advantage, kind="stable")
        rank = np.empty(len(order), dtype=int)
        rank[order] = np.arange(1, len(order) + 1)
        phrases[f"module {m}"] = [labels[j][0] for j in order if labels[j][1] != "direction" and advantage[j] > 0]
        columns.append(
            {
                "module": [m] * len(labels),
                "feature": [name for name, _ in labels],
                "kind": [kind for _, kind in labels],
                "strength": fractions[m].tolist(),
                "advantage": advantage.tolist(),
                "rank": rank.tolist(),
            }
        )
    return stacked(columns), phrases, pairs


def _columns_of(features: Features) -> tuple[NDArray, list[tuple[str, str]]]:
    """Return numbers, levels of categories and frequent words as columns, with their names and kinds."""
    indicators, levels = features.indicators()
    columns, labels = [features.numbers, indicators], [(name, "number") for name in features.number_names]
    labels += [(f"{name} {level}", "category") for name, level in levels]
    if features.words is not None:
        present = features.words > 0
        counts = np.asarray(present.sum(axis=0)).ravel()
        frequent = np.sort(np.argsort(-counts, kind="stable")[:MODULE_WORDS])
        columns.append(present[:, frequent].toarray().astype(np.float64))
        labels += [(features.vocabulary[j], "word") for j in frequent]
    return np.hstack(columns), labels
