"""Saved models: what they contain, and the rows of a file in the form in which a model takes them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

import polyfold
from polyfold.cli import shortened
from polyfold.cli._column_kinds import NUMBER, TEXT, USES, NewCategories, Plan
from polyfold.cli._formats import image_shape
from polyfold.cli._inputs import ArrayData, FileData, Selection, TableData, block_rows, open_data, open_features
from polyfold.saving import describe


def last_step(model: Any) -> Any:
    """Return the estimator itself, without its preparation."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def n_modules(estimator: Any) -> int:
    """Return the number of modules of a fitted estimator, 0 if it has none."""
    return estimator._module_shape[0] if hasattr(estimator, "transform_modules") else 0


def summary(model: Any) -> dict[str, Any]:
    """Return the size of a fitted model and the figures it stores."""
    estimator = last_step(model)
    size = {"modules": n_modules(estimator)} if n_modules(estimator) else {}
    if hasattr(model, "transform"):
        size["coordinates"] = len(model.get_feature_names_out())
    names = ("loss_", "loss_bound_", "loss_gap_", "n_clusters_", "layer_sizes_", "fidelity_", "novelty_")
    figures = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    return {**size, **{name.strip("_"): np.asarray(value).tolist() for name, value in figures.items()}}


def model_info(path: str, *, with_table: bool = False) -> dict[str, Any]:
    """Return the contents of a model file: class, parameters, columns and figures; also each column of its table."""
    about, model = describe(path), polyfold.load(path)
    estimator, plan = last_step(model), Plan.stored(model)
    plain = (bool, int, float, str, type(None))
    parameters = estimator.get_params(deep=False).items()
    names = getattr(model, "feature_names_in_", None)
    return {
        "file": path,
        "class": type(estimator).__name__,
        **({} if estimator is model else {"steps": [type(step).__name__ for _, step in model.steps]}),
        "polyfold": about["polyfold"],
        "written with": about.get("written with"),
        "columns": int(getattr(model, "n_features_in_", 0)) if names is None else [str(name) for name in names],
        **({} if plan is None else {"kinds": {kind: plan.names(kind) for kind in USES if plan.names(kind)}}),
        **({"table": plan.as_dict()} if plan is not None and with_table else {}),
        "parameters": {
            name: value if isinstance(value, plain) else " ".join(repr(value).split()) for name, value in parameters
        },
        **summary(model),
    }


class ModelRows:
    """A fitted model, and the rows of a file as it takes them: a table if it was fitted to one, otherwise an array."""

    def __init__(self, model: Any, path: str, selection: Selection):
        self.model, self.estimator, self._plan = model, last_step(model), Plan.stored(model)
        self.data, self._size = _open_columns(model, self._plan, path, selection), selection.size

    def blocks(self) -> Iterator[Any]:
        """Yield the rows in blocks; warn of new categories at the end."""
        return self._read(block_rows(self.data))

    def all(self) -> Any:
        """Return all rows in memory."""
        (rows,) = self._read(None)
        return rows

    def prepared(self, rows: Any) -> Any:
        """Return rows as the estimator itself gets them, after the preparation."""
        has_preparation = isinstance(self.model, Pipeline) and len(self.model.steps) > 1
        return self.model[:-1].transform(rows) if has_preparation else rows

    def image_shape(self, rows: Any) -> tuple[int, ...] | None:
        """Return the shape of the images that are rows: as they are stored, or by --size; None without images."""
        return image_shape(self.data.image_shape, self._size, rows.shape[1])

    def texts(self, rows: Any) -> Any:
        """Return the free text that the model was fitted to, if it has no other column."""
        plan = self._plan
        is_text = plan is not None and {column.kind for column in plan.used} == {TEXT}
        return rows[plan.text_name] if plan is not None and is_text else None

    def input_names(self) -> list[str]:
        """Return the names of the columns that the model was fitted to."""
        default = [f"x{number}" for number in range(self.model.n_features_in_)]
        return [str(name) for name in getattr(self.model, "feature_names_in_", default)]

    def _read(self, size: int | None) -> Iterator[Any]:
        names = getattr(self.model, "feature_names_in_", None)
        new = NewCategories(self.model[0] if isinstance(self.model, Pipeline) else None, self.data.path)
        for rows in self.data.blocks(size):
            if names is None and isinstance(rows, pd.DataFrame):
                rows = np.ascontiguousarray(rows.to_numpy())
            elif names is not None and not isinstance(rows, pd.DataFrame):
                rows = pd.DataFrame(rows.toarray() if sp.issparse(rows) else rows, columns=names)
            new.count(rows)
            yield rows
        new.warn()


def _open_columns(model: Any, plan: Plan | None, path: str, selection: Selection) -> FileData:
    """Open the columns that a model was fitted to, with the kinds it was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    data = open_features(path, selection) if names is None or selection.columns else open_data(path, selection)
    if plan is not None and isinstance(data, ArrayData):
        return _as_columns(data, plan)
    if names is not None and isinstance(data, TableData):
        needed = [str(name) for name in names] if plan is None else [column.name for column in plan.used]
        if missing := [name for name in needed if name not in (*data.names, data.index)]:
            raise ValueError(f"{data.path} lacks columns the model was fitted to: {shortened(missing)}.")
        data = data.select(needed)
    elif data.n_columns != model.n_features_in_:
        raise ValueError(
            f"{data.path} has {data.n_columns} columns, the model was fitted to {model.n_features_in_}; select columns "
            "with --columns, --drop and --target, and resize images with --size."
        )
    if isinstance(data, ArrayData):
        return data
    return data.unplanned(only_numbers=not isinstance(model, Pipeline)) if plan is None else data.as_planned(plan)


def _as_columns(data: ArrayData, plan: Plan) -> ArrayData:
    """Return an array as the columns of a table, by position: all of them, or those that are used."""
    if other := [column for column in plan.used if column.kind != NUMBER]:
        raise ValueError(
            f"{data.path} is an array, the model was fitted to a table with {other[0].name!r} ({other[0].kind}); pass "
            "a .csv or .parquet file with the same columns."
        )
    if data.n_columns == len(plan.used):
        return data
    if data.n_columns != len(plan.columns):
        raise ValueError(f"{data.path} has {data.n_columns} columns, the model was fitted to {len(plan.columns)}.")
    numbers = data.columns or range(data.n_columns)
    kept = [number for number, column in zip(numbers, plan.columns, strict=True) if column in plan.used]
    return data.select([str(number) for number in kept])
