"""The border of a long fit: its `verbose`, and scikit-learn's callbacks where there are some."""

import functools
from collections.abc import Callable
from numbers import Integral
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from polyfold._running._display import displays
from polyfold._running._progress import Job, is_watched, job

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9
    CallbackSupportMixin: Any = object

    def with_callbacks(method: Any) -> Any:
        """Return the method: there are no callbacks."""
        return method


# Tasks of a fit that callbacks are told of: equal parts of its expected cost.
TASKS = 100

Estimator = TypeVar("Estimator")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class LongFit(CallbackSupportMixin):
    """Base of estimators whose fits show their progress, to a person or to scikit-learn's callbacks."""

    verbose: int = 0


def shows_progress(
    fit: Callable[Concatenate[Estimator, Parameters], Result],
) -> Callable[Concatenate[Estimator, Parameters], Result]:
    """Decorate the `fit` of a `LongFit`: it becomes a job, shown if `verbose`, and told to callbacks."""

    @with_callbacks
    @functools.wraps(fit)
    def shown(self: Any, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        watchers = [] if is_watched() else displays(_asked(self.verbose))
        tasks = _Tasks.of(self, *args, **kwargs)
        with job(type(self).__name__, watchers if tasks is None else [*watchers, tasks]):
            result = fit(self, *args, **kwargs)
        if tasks is not None:
            tasks.finish()
        return result

    return shown


def _asked(verbose: Any) -> bool:
    if not isinstance(verbose, Integral | np.bool_) or verbose < 0:
        raise ValueError(f"verbose must be an integer >= 0, got {verbose!r}; pass 1 to see a bar.")
    return bool(verbose)


class _Tasks:
    """The callbacks of an estimator, told of its fit as of a hundred equal tasks."""

    @classmethod
    def of(cls, estimator: Any, *args: Any, **kwargs: Any) -> "_Tasks | None":
        """Return them where there are some, after the fit's beginning was told."""
        if not hasattr(estimator, "_skl_callbacks") and not hasattr(estimator, "_parent_callback_ctx"):
            return None
        return cls(estimator, *args, **kwargs)

    def __init__(self, estimator: Any, X: Any, y: Any = None, **kwargs: Any):
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._told = 0
        self._context = estimator._init_callback_context(max_subtasks=TASKS)
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def update(self, job: Job) -> None:
        """Tell of the tasks that have been done since."""
        while self._told < int(TASKS * job.done):
            self._told += 1
            task = self._context.subcontext(task_name=job.doing)
            task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            task.call_on_fit_task_end(estimator=self._estimator, **self._data)

    def close(self, job: Job) -> None:
        """Leave the end to `finish`: a fit that failed has none."""

    def finish(self) -> None:
        """Tell of the end of the fit."""
        # No attributes to add: the estimator is fitted.
        self._context.call_on_fit_task_end(estimator=self._estimator, **self._data, reconstruction_attributes={})
