"""Groups of rows described by features: clusters, and the two ends of an axis."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold.explaining._effects import Effects, auc_of, class_tfidf, group_effects
from polyfold.explaining._features import Features
from polyfold.explaining._naming import FEATURES, MOST, SAME, SMALL, WORDS, region_means, word_phrases
from polyfold.explaining._strengths import centred

# Words that are reported for each group, and columns that may be part of its name.
TOP_WORDS, CANDIDATES = 20, 100
# Columns that rank first because they add to one another; the others follow by their effects.
LEADING = 3


@dataclass(frozen=True)
class Columns:
    """Numbers, and levels of categories as 0 and 1, with the effects of k groups."""

    values: NDArray  # (n, P)
    labels: list[tuple[str, str, str]]  # feature, level, kind
    effects: Effects
    ends: tuple[str, str] = ("high", "low")
    has_opposites: bool = False  # whether a column that mirrors another one, such as left and right, adds information

    def phrase(self, c: int, j: int) -> str:
        """Return a phrase such as "income high" or "plan gold", empty if column `j` does not describe group `c`."""
        feature, level, kind = self.labels[j]
        effect, certain = self.effects.effect[c, j], self.effects.certain()[c, j]
        if certain < SMALL or (kind == "category" and effect < 0):
            return ""
        return f"{feature} {level}" if kind == "category" else f"{feature} {self.ends[0 if effect > 0 else 1]}"

    def phrases(self, c: int, order: Iterable[int]) -> list[str]:
        """Return the phrases of columns in this order, without those that repeat an earlier one."""
        phrases: list[str] = []
        used = np.empty((len(self.values), 0))
        for j in order:
            phrase = self.phrase(c, j)
            column = centred(self.values[:, [j]])
            products = column.T @ used / len(column)
            if phrase and not ((products if self.has_opposites else np.abs(products)) > SAME).any():
                phrases.append(phrase)
                used = np.hstack([used, column])
            if len(phrases) == MOST:
                break
        return phrases

    def complementary(self, c: int, mask: NDArray) -> list[int]:
        """Return columns by what each adds to the earlier ones in distinguishing group `c`, a mask (n,), from the rest.

        The first has the largest effect. The next ones maximise the standardised difference that remains after a linear
        regression on the earlier ones within both groups, as in stepwise discriminant analysis. Columns that add
        nothing come last, by their effects.
        """
        certain = self.effects.certain()[c]
        candidates = [j for j in np.argsort(-certain, kind="stable")[:CANDIDATES] if self.phrase(c, j)]
        if not candidates:
            return []
        S = centred(self.values[:, candidates])
        gap = S[mask].mean(axis=0) - S[~mask].mean(axis=0)
        within = (np.cov(S[mask], rowvar=False, bias=True) + np.cov(S[~mask], rowvar=False, bias=True)) / 2
        within = np.atleast_2d(within) + 1e-6 * np.eye(len(candidates))
        order = [0]
        while len(order) < min(MOST, len(candidates)):
            slopes = np.linalg.solve(within[np.ix_(order, order)], within[order])
            rest = gap - gap[order] @ slopes
            spread = np.sqrt(np.maximum(np.diag(within) - np.sum(within[order] * slopes, axis=0), 1e-3))
            effect = np.where(np.sign(rest) == np.sign(gap), np.abs(rest) / spread, 0)
            effect[order] = 0
            if effect.max() < SMALL:
                break
            order.append(int(np.argmax(effect)))
        return [candidates[i] for i in [*order, *(i for i in range(len(candidates)) if i not in order)]]


@dataclass(frozen=True)
class Groups:
    """How k groups of rows differ from all other rows."""

    features: Features
    member: NDArray  # (k, n), masks
    weights: NDArray  # bootstrap samples
    shape: tuple[int, int] | None = None  # height and width of images

    @cached_property
    def columns(self) -> Columns:
        """Numbers and levels of categories, with their effects."""
        indicators, levels = self.features.indicators()
        values = np.hstack([self.features.numbers, indicators])
        labels = [(name, "", "number") for name in self.features.number_names]
        labels += [(name, level, "category") for name, level in levels]
        return Columns(values, labels, group_effects(values, self.member, self.weights))

    @cached_property
    def regions(self) -> Columns | None:
        """Regions of images: names describe where they are bright or dark."""
        if self.shape is None:
            return None
        means, names = region_means(self.features.numbers, self.shape)
        effects = group_effects(means, self.member, self.weights)
        return Columns(means, [(name, "", "number") for name in names], effects, ("bright", "dark"), has_opposites=True)

    @cached_property
    def scores(self) -> NDArray:
        """Class-based tf-idf of words, shape (k, V)."""
        words = self.features.words
        return np.empty((len(self.member), 0)) if words is None else class_tfidf(words, self.member)

    @property
    def length(self) -> int:
        """Number of phrases of a name."""
        return WORDS if self.scores.shape[1] else FEATURES

    def phrases(self, c: int) -> list[str]:
        """Return the parts of a name of group `c`, best first."""
        if self.scores.shape[1]:
            return word_phrases(self.scores[c], self.features.vocabulary)
        shown = self.columns if self.regions is None else self.regions
        return shown.phrases(c, shown.complementary(c, self.member[c]))

    def axis_phrases(self, c: int, order: NDArray) -> list[str]:
        """Return the parts of a name of the end `c` of an axis that the features `order` explain, best first.

        The two ends of an axis follow one another.
        """
        D, K = self.features.numbers.shape[1], len(self.features.category_names)
        if self.scores.shape[1]:
            words = order[order >= D + K] - D - K
            scores = np.zeros(self.scores.shape[1])
            scores[words] = self.scores[c, words]
            return word_phrases(scores, self.features.vocabulary)
        if self.regions is not None:  # first where it is bright, then where it is dark
            size = self.regions.effects.certain() * np.sign(self.regions.effects.effect)
            change = size[c] - size[c ^ 1]
            return self.regions.phrases(c, np.lexsort((-np.abs(change), size[c] < 0)))
        phrases = []
        for j in order[: 2 * MOST]:
            if j >= D:
                levels = [
                    i for i, label in enumerate(self.columns.labels) if label[0] == self.features.category_names[j - D]
                ]
                best = sorted(levels, key=lambda i: -self.columns.effects.certain()[c, i])
                phrases += self.columns.phrases(c, best)[:1]
            else:
                phrases += [self.columns.phrase(c, j) or self._bend(c, j)]
        return [phrase for phrase in phrases if phrase][:MOST]

    def _bend(self, c: int, j: int) -> str:
        """Return "x extreme" or "x medium" if group `c` is far from, or near to, the median of number `j`."""
        x = self.features.numbers[:, [j]]
        effects = group_effects(np.abs(x - np.median(x)), self.member[[c]], self.weights)
        return Columns(x, [self.columns.labels[j]], effects, ("extreme", "medium")).phrase(0, 0)

    def table(self, c: int) -> dict[str, list]:
        """Return the columns of the table of clusters for group `c`, first numbers and categories, then words."""
        effects, labels = self.columns.effects, self.columns.labels
        is_level = np.array([kind == "category" for _, _, kind in labels], dtype=bool)
        lift = np.full(len(labels), np.nan)
        lift[is_level] = effects.inside[c, is_level] / self.columns.values[:, is_level].mean(axis=0)
        first = self.columns.complementary(c, self.member[c])[:LEADING]
        by_size = np.argsort(-np.abs(effects.effect[c]), kind="stable")
        order = np.array([*first, *by_size[~np.isin(by_size, first)]], dtype=int)
        rank = np.empty(len(order), dtype=int)
        rank[order] = np.arange(1, len(order) + 1)
        auc = auc_of(self.features.ranks, self.member[c])
        out = _rows(labels, effects, c, auc, lift, np.full(len(labels), np.nan), rank)
        if not self.scores.shape[1]:
            return out
        best = np.argsort(-self.scores[c], kind="stable")[:TOP_WORDS]
        best = best[self.scores[c, best] > 0]
        present = (sp.csr_array(self.features.words)[:, best] > 0).toarray().astype(np.float64)
        effects = group_effects(present, self.member[[c]], self.weights)
        lift = effects.inside[0] / present.mean(axis=0)
        words = [(self.features.vocabulary[j], "", "word") for j in best]
        more = _rows(words, effects, 0, np.empty(0), lift, self.scores[c, best], np.arange(1, len(best) + 1))
        return {name: values + more[name] for name, values in out.items()}


def _rows(
    labels: list, effects: Effects, c: int, auc: NDArray, lift: NDArray, tfidf: NDArray, rank: NDArray
) -> dict[str, list]:
    """Return the columns of the table; `auc` is that of the numbers, which come first."""
    of_indicators = (0.5 + (effects.inside[c] - effects.outside[c]) / 2)[len(auc) :]
    return {
        "feature": [feature for feature, _, _ in labels],
        "value": [level for _, level, _ in labels],
        "kind": [kind for _, _, kind in labels],
        "effect": effects.effect[c].tolist(),
        "low": effects.low[c].tolist(),
        "high": effects.high[c].tolist(),
        "auc": [*auc.tolist(), *of_indicators.tolist()],
        "lift": lift.tolist(),
        "tfidf": tfidf.tolist(),
        "inside": effects.inside[c].tolist(),
        "outside": effects.outside[c].tolist(),
        "rank": rank.tolist(),
    }
