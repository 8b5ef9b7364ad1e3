"""The result of `explain`."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyfold._files import replacing
from polyfold._validation import check_choice, import_extra
from polyfold.explaining._loadings import coordinate_gradients
from polyfold.explaining._page import page_of
from polyfold.report import ExplanationDisplay

if TYPE_CHECKING:
    import pandas as pd

    from polyfold.report._display import Theme

KINDS = ("axes", "clusters", "walk")


@dataclass(eq=False, repr=False)
class Explanation:
    """Describe what axes, clusters and modules mean, in terms of features.

    The tables `axes`, `clusters` and `modules` are data frames (pandas, extra ``cli``). Without pandas, `tables` holds
    their columns as arrays.

    Attributes
    ----------
    tables : dict of str to dict of str to ndarray
        The columns of "axes", "clusters" and "modules", as far as the model has them.
    names : dict of str to str
        A short name for each "cluster 0", "axis 0 low", "axis 0 high" and "module 0". With several levels of clusters
        the keys are "level 0 cluster 0". Different clusters have different names.
    prototypes : dict of str to dict of str to ndarray
        Row numbers of the "typical" and "borderline" rows of clusters and axis ends, rows "along" each axis, and
        "separated pairs" of modules.
    rows : ndarray of shape (n,)
        Numbers of the rows that were used.
    walk : ndarray of shape (n_axes, n_steps, n_features) or None
        Means of the features along each axis, in steps of equally many rows.
    strips : ndarray of shape (n_axes, n_steps, n_features) or None
        Images along each axis: in every step, the one whose other coordinates are nearest to their medians.
    means : dict of str to ndarray of shape (n_features,)
        Means of the features of each cluster.
    feature_names : list of str
        Names of the numbers, in the order of `walk` and `means`.
    examples : dict of str to list of str
        The typical rows: their texts, or the values of their columns.
    scale : ndarray of shape (n_features,)
        Standard deviations of the features.
    images : tuple of int or None
        Height and width.
    """

    tables: dict[str, dict[str, NDArray]]
    names: dict[str, str]
    prototypes: dict[str, dict[str, NDArray]]
    rows: NDArray
    walk: NDArray | None
    strips: NDArray | None
    means: dict[str, NDArray]
    feature_names: list[str]
    examples: dict[str, list[str]]
    scale: NDArray
    images: tuple[int, int] | None = None
    model: Any = None

    def __repr__(self) -> str:
        named = [f"{part}={name!r}" for part, name in self.names.items()]
        return f"Explanation({', '.join(named[:6] + ([f'… ({len(named)} in all)'] if len(named) > 6 else []))})"

    @property
    def axes(self) -> "pd.DataFrame":
        """Coordinate × feature, in the order of ranks.

        `strength` is the fraction of the coordinate's variance that the feature alone explains (leave-one-out). `null`
        is the largest strength of any feature for permuted rows. `joint` is the fraction that the features up to this
        rank explain together; it is missing for features that add nothing. `repeats` names a stronger feature with a
        correlation above 0.95, whose rank the feature shares.
        """
        return self._frame("axes")

    @property
    def clusters(self) -> "pd.DataFrame":
        """Cluster × feature.

        `effect` is the standardised difference between the means inside and outside the cluster, with a 95 % bootstrap
        interval (`low`, `high`). The first three ranks are features that add to one another (stepwise discriminant
        analysis), the others follow by the size of their effects; words have ranks of their own, by `tfidf`. `lift` is
        the fraction of the category, or of rows with the word, inside the cluster over that of all rows.
        """
        return self._frame("clusters")

    @property
    def modules(self) -> "pd.DataFrame":
        """Module × feature or direction of the kernel.

        `strength` is the fraction of variance that linear functions of the module explain (leave-one-out). `advantage`
        is its difference from the mean of the other modules.
        """
        return self._frame("modules")

    def _frame(self, name: str) -> "pd.DataFrame":
        pandas = import_extra("pandas", "cli")
        return pandas.DataFrame(self.tables.get(name, {}))

    def to_frame(self) -> "pd.DataFrame":
        """Return all tables as one: `part` is "axis 0", "cluster 1" or "module 2", `name` its name."""
        pandas = import_extra("pandas", "cli")
        frames = []
        for table in self.tables:
            frame = self._frame(table)
            keys = self.parts(table)
            frame.insert(0, "part", keys)
            frame.insert(1, "name", [self.name_of(key) for key in keys])
            frames.append(frame.drop(columns=[c for c in ("axis", "cluster", "module", "level") if c in frame]))
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()

    def parts(self, table: str) -> list[str]:
        """Return the key of the part that every row of a table belongs to."""
        columns = self.tables[table]
        several = table == "clusters" and len(np.unique(columns["level"])) > 1
        kind = {"axes": "axis", "clusters": "cluster", "modules": "module"}[table]
        prefixes = [f"level {level} " for level in columns["level"]] if several else [""] * len(columns[kind])
        return [f"{prefix}{kind} {value}" for prefix, value in zip(prefixes, columns[kind], strict=True)]

    def rows_of(self, table: str, part: str) -> NDArray:
        """Return the numbers of the rows of a table that belong to a part, such as "cluster 0"."""
        return np.flatnonzero(np.array(self.parts(table)) == part)

    def name_of(self, part: str) -> str:
        """Return the name of a part; of an axis, the names of both ends."""
        if part in self.names:
            return self.names[part]
        return f"{self.names[f'{part} low']} → {self.names[f'{part} high']}"

    def local_loadings(self, X: ArrayLike) -> NDArray:
        """Return the gradients of the coordinates with respect to the features at points.

        They are exact for kernels of two points (Gaussian, Laplacian, linear, polynomial, cosine) and random Fourier
        features, and central finite differences of `transform` otherwise.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The points, as the estimator takes them: after the earlier steps of a pipeline.

        Returns
        -------
        loadings : ndarray of shape (n, n_coordinates, n_features)
        """
        if self.model is None:
            raise ValueError(
                "Local loadings need a fitted model with transform, but an array or clusters were explained."
            )
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        known = self.scale if len(self.scale) == X.shape[1] else np.ones(X.shape[1])
        return coordinate_gradients(self.model, X, known)

    def plot(
        self, kind: Literal["axes", "clusters", "walk"] | None = None, *, theme: "Theme | None" = None
    ) -> ExplanationDisplay:
        """Plot the explanation.

        Parameters
        ----------
        kind : {"axes", "clusters", "walk"}, default=None
            Strengths of features for each axis, effects of features for each cluster, or images or means of features
            along each axis. None takes the first that the explanation has.
        theme : {"light", "dark"} or None, default=None

        Returns
        -------
        display : ExplanationDisplay
        """
        if kind is None:
            kind = "axes" if "axes" in self.tables else "clusters"
        check_choice("kind", kind, KINDS)
        if {"walk": "axes"}.get(kind, kind) not in self.tables:
            needed = "clusters" if kind == "clusters" else "axes"
            raise ValueError(f"kind={kind!r} needs {needed}, but the explanation has {', '.join(self.tables)} only.")
        return ExplanationDisplay(self, kind=kind).plot(theme=theme)

    def to_html(self, path: str | PathLike[str] | None = None, *, title: str = "Explanation") -> str:
        """Return the explanation as one HTML page, and write it to `path` if given.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write.
        title : str, default="Explanation"

        Returns
        -------
        page : str
            Images need matplotlib (extra ``plot``).
        """
        page = page_of(self, title)
        if path is not None:
            with replacing(Path(path)) as temporary:
                Path(temporary).write_text(page, encoding="utf-8")
        return page
