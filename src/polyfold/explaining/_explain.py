"""`explain`: what the coordinates, clusters and modules of a representation mean, in terms of features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from polyfold._linalg import sample_rows
from polyfold._progress import phase, watched
from polyfold._threads import using_threads
from polyfold._typing import RandomState, Rows
from polyfold._validation import check_count, draw_seed
from polyfold.explaining._axes import axis_strengths, axis_table
from polyfold.explaining._effects import bootstrap_weights
from polyfold.explaining._explanation import Explanation
from polyfold.explaining._features import Features, is_missing, read_features, stacked
from polyfold.explaining._groups import Groups
from polyfold.explaining._module_strengths import module_parts
from polyfold.explaining._naming import FEATURES, axis_names, unique_names
from polyfold.explaining._prototypes import ends_of, rows_along, space_of, typical_rows, walk_means
from polyfold.explaining._subject import Subject, subject_of
from polyfold.sources import as_source, is_stream, pick_rows


def explain(
    model: BaseEstimator | ArrayLike,
    X: Rows,
    *,
    feature_names: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    images: tuple[int, int] | None = None,
    n_top: int = 5,
    levels: bool = False,
    max_rows: int = 5000,
    random_state: RandomState = None,
) -> Explanation:
    """Explain axes, clusters or modules by features, words or images.

    Parameters
    ----------
    model : fitted estimator or array-like
        A representation, clusterer, classifier or pipeline. Or an array: labels of shape (n,), coordinates of shape
        (n,) or (n, c), modules of shape (M, n, h).
    X : {array-like, sparse matrix, data frame, source} of shape (n, n_features)
        The rows, as `model` takes them. With an array as `model`, any features of the rows. Columns of a data frame may
        be numbers or categories. A sparse matrix without negative entries is taken as counts of words. Any container of
        :func:`polyfold.sources.as_source` is read in blocks, of which the sampled rows are kept.
    feature_names : sequence of str, default=None
        Names of the columns, or the words of a sparse matrix. None takes those of the data frame or the model.
    texts : sequence of str, default=None
        One text for each row. Clusters and axes are then described by words. Columns of `X` without names, such as
        those of an embedding, are not used.
    images : tuple of int, default=None
        Height and width, if the rows of `X` are grey images.
    n_top : int, default=5
        Maximum number of features that explain an axis together, and of rows in each list of prototypes.
    levels : bool, default=False
        Explain the clusters of every level of a clusterer (`levels_`), not only those of its labels.
    max_rows : int, default=5000
        If there are more rows, a random sample of this size is explained.
    random_state : int, RandomState or None, default=None
        Seed of the sample, of the permutations and of the bootstrap.

    Returns
    -------
    explanation : Explanation
        Tables `axes`, `clusters` and `modules`, with `names` and `prototypes`.

    Notes
    -----
    Time grows with rows · features · (coordinates + 19), plus the square of at most 500 rows for each coordinate.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> model = KMeans(3, random_state=0).fit(iris.data)
    >>> explanation = pf.explain(model, iris.data, random_state=0)
    >>> explanation.names["cluster 1"]
    'petal length (cm) low, sepal width (cm) high'
    """
    n_top = check_count("n_top", n_top)
    max_rows = check_count("max_rows", max_rows, minimum=10)
    rng = np.random.RandomState(draw_seed(random_state))
    with watched("explain"), using_threads(None):
        with phase("rows"):
            sample, rows, n = _sample(X, max_rows, rng)
        if images is not None and np.prod(images) != np.shape(sample)[1]:
            wanted = np.shape(sample)[1]
            raise ValueError(f"images must be the height and width of rows of {wanted} pixels, got {images}.")
        if texts is not None and _num_samples(texts) != n:
            raise ValueError(f"texts must have one entry for each of the {n} rows, got {_num_samples(texts)}.")
        with phase("representation"):
            subject = subject_of(model, sample, rows, n, every_level=levels)
        with phase("features"):
            every = None if texts is None else list(texts)
            row_texts = None if every is None else ["" if is_missing(every[row]) else str(every[row]) for row in rows]
            features = read_features(sample, _names(model, sample, feature_names, images), row_texts)
        return _Builder(subject, features, row_texts, images, n_top, rng).explanation()


def _sample(X: Any, max_rows: int, rng: np.random.RandomState) -> tuple[Any, NDArray, int]:
    """Return at most `max_rows` rows in memory, their numbers, and the number of all rows."""
    source = as_source(X) if is_stream(X) and not isinstance(X, np.memmap) else None
    n = _num_samples(X) if source is None else source.n_rows
    rows = sample_rows(n, max_rows, rng)
    if source is not None:
        return source.named(pick_rows(source, rows)), rows, n
    return X if len(rows) == n else _safe_indexing(X, rows), rows, n


def _names(model: Any, X: Any, given: Sequence[str] | None, images: tuple[int, int] | None) -> Sequence[str] | None:
    if given is not None or hasattr(X, "columns"):
        return given
    if images is not None:
        return [f"pixel ({r}, {c})" for r in range(images[0]) for c in range(images[1])]
    return getattr(model, "feature_names_in_", None)


class _Builder:
    """Fills the parts of an explanation, one after the other."""

    def __init__(
        self, subject: Subject, features: Features, texts: Any, images: Any, n_top: int, rng: np.random.RandomState
    ):
        self.subject, self.features, self.texts, self.images = subject, features, texts, images
        self.n_top, self.rng = n_top, rng
        self.tables: dict[str, dict[str, NDArray]] = {}
        self.names: dict[str, str] = {}
        self.prototypes: dict[str, dict[str, NDArray]] = {}
        self.examples: dict[str, list[str]] = {}
        self.means: dict[str, NDArray] = {}
        self.walk: NDArray | None = None
        self.strips: NDArray | None = None
        self.weights = bootstrap_weights(features.n_rows, rng)
        is_table = features.is_named and images is None and bool(features.number_names or features.category_names)
        self.space = space_of(features) if is_table or subject.space is None else subject.space

    def explanation(self) -> Explanation:
        """Compute all parts that the subject has."""
        subject = self.subject
        if subject.coordinates is not None:
            with phase("axes"):
                self._add_axes(subject.coordinates)
        if subject.levels:
            with phase("clusters"):
                self._add_clusters(subject.levels)
        if subject.modules is not None:
            with phase("modules"):
                self._add_modules(subject.modules)
        return Explanation(
            tables=self.tables,
            names=self.names,
            prototypes=self.prototypes,
            rows=subject.rows,
            walk=self.walk,
            strips=self.strips,
            means=self.means,
            feature_names=self.features.number_names,
            examples=self.examples,
            images=self.images,
            model=subject.model,
            scale=self.features.numbers.std(axis=0),
        )

    def _add_axes(self, Z: NDArray) -> None:
        # A few pixels do not explain an image; its regions give the names.
        strengths = axis_strengths(self.features, Z, 0 if self.images else self.n_top, self.rng)
        self.tables["axes"] = axis_table(self.features, strengths)
        keys = [f"axis {k} {end}" for k in range(Z.shape[1]) for end in ("low", "high")]
        member = np.array([mask for z in Z.T for mask in ends_of(z)])
        groups = Groups(self.features, member, self.weights, self.images)
        phrases = {key: groups.axis_phrases(c, strengths.ordered(c // 2)) for c, key in enumerate(keys)}
        # For images, another region is more useful than a longer name: the strip shows the rest.
        is_image = self.images is not None
        self.names |= axis_names(phrases, 1 if is_image else groups.length, replaces=is_image)
        for k in range(Z.shape[1]):
            pair = typical_rows(self.space, member[2 * k : 2 * k + 2], self.n_top)
            self._add_prototypes(keys[2 * k : 2 * k + 2], pair)
        along = np.array([rows_along(Z, k) for k in range(Z.shape[1])])
        self.prototypes |= {f"axis {k}": {"along": self.subject.rows[rows]} for k, rows in enumerate(along)}
        self.strips = None if self.images is None else self.features.numbers[along]
        self.walk = walk_means(Z, self.features.numbers)

    def _add_clusters(self, levels: list[NDArray]) -> None:
        columns = []
        for level, labels in enumerate(levels):
            values = np.unique(labels)
            member = np.array([labels == value for value in values])
            groups = Groups(self.features, member, self.weights, self.images)
            prefix = f"level {level} " if len(levels) > 1 else ""
            keys = [f"{prefix}cluster {value}" for value in values]
            # Unique within a level, so that a cluster has the same name with and without the other levels.
            phrases = {f"cluster {value}": groups.phrases(c) for c, value in enumerate(values)}
            names = unique_names(phrases, groups.length, "no distinct feature")
            self.names |= {prefix + key: name for key, name in names.items()}
            for c, key in enumerate(keys):
                self.means[key] = self.features.numbers[member[c]].mean(axis=0)
                columns.append(_cluster_columns(groups, c, level, values[c]))
            self._add_prototypes(keys, typical_rows(self.space, member, self.n_top))
        self.tables["clusters"] = stacked(columns)

    def _add_modules(self, modules: NDArray) -> None:
        self.tables["modules"], phrases, pairs = module_parts(self.features, modules, self.n_top, self.rng)
        self.names |= unique_names(phrases, FEATURES, "no distinct feature")
        self.prototypes |= {key: {"separated pairs": self.subject.rows[rows]} for key, rows in pairs.items()}

    def _add_prototypes(self, keys: list[str], prototypes: list[dict[str, NDArray]]) -> None:
        for key, lists in zip(keys, prototypes, strict=True):
            self.prototypes[key] = {kind: self.subject.rows[rows] for kind, rows in lists.items()}
            if self.texts is not None:
                self.examples[key] = [self.texts[row] for row in lists["typical"]]
            elif self.features.is_named and self.images is None and self.features.words is None:
                self.examples[key] = [self.features.describe(row) for row in lists["typical"]]


def _cluster_columns(groups: Groups, c: int, level: int, label: Any) -> dict[str, list]:
    table = groups.table(c)
    count = len(table["feature"])
    size = int(groups.member[c].sum())
    return {"level": [level] * count, "cluster": [label] * count, "size": [size] * count, **table}
