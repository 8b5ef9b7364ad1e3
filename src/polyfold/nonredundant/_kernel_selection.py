"""Select the kernel, the bandwidths and the number of coordinates, whatever of these was not given.

All of them are selected by the criterion of `_sequence`, on a sample if there are many rows. `KernelChoice.fit` then
computes the coordinates of all rows with the selected kernel and bandwidths.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._linalg import sample_rows
from polyfold._policy import BANDWIDTHS, SEARCH_ROWS
from polyfold._typing import Matrix
from polyfold._validation import outside
from polyfold.exceptions import UnsuitableKernelError
from polyfold.kernels import (
    GraphKernel,
    Isomap,
    Kernel,
    LaplacianEigenmaps,
    LocallyLinear,
    Operator,
    TangentAlignment,
    as_kernel,
    feature_operator,
    has_fixed_rows,
    intrinsic_dimension,
)
from polyfold.nonredundant._sequence import (
    MAX_AUTO_COMPONENTS,
    Selected,
    Step,
    best_rotation,
    criterion,
    find_sequence,
    follow_bandwidths,
    select_kernel,
)
from polyfold.spectra import make_solver, spectrum_of

AnyKernel = Kernel | GraphKernel
# Landmarks and directions of a pointwise kernel that the sequence may combine.
_RANK = 500


@dataclass(frozen=True)
class SequenceSettings:
    """Parameters of a fit; a number of components or a bandwidth that is None is selected."""

    n_components: int | None
    bandwidth: float | None
    n_neighbors: int | None
    eigen_solver: str
    seed: int


@dataclass(frozen=True)
class KernelChoice:
    """A kernel with its coordinates of some rows, and the scores of the kernels that were compared."""

    kernel: AnyKernel
    rows: Matrix
    operator: Operator
    found: Selected
    settings: SequenceSettings
    messages: list[warnings.WarningMessage] = field(default_factory=list)  # of a kernel that was compared
    name: str | None = None
    kernel_scores: dict[str, float] = field(default_factory=dict)

    def fit(self, rows: Matrix) -> tuple[Operator, list[Step]]:
        """Return the operator and the coordinates of all rows, with the selected bandwidths."""
        if rows is self.rows:
            return self.operator, self.found.steps
        operator, alphas = kernel_operator(self.kernel, rows, self.settings.seed), [s.alpha for s in self.found.steps]
        solver = make_solver(operator, self.settings.eigen_solver)
        return operator, follow_bandwidths(operator, solver, alphas, self.settings.seed)

    def rotation(self, operator: Operator, F: NDArray, rows: Matrix) -> NDArray:
        """Return the rotation of the coordinates `F`; those of a kernel with units keep their principal axes."""
        if self.settings.bandwidth is not None or operator.has_units:
            return np.eye(F.shape[1])
        by_distances = _holds_distances(self.kernel, rows)
        R = best_rotation(criterion(operator, rows, self.settings.seed, by_distances=by_distances), F)
        return R / (F @ R).std(axis=0)  # coordinates are uncorrelated in the measure of the kernel, nearly so in ours


def select_on_sample(kernel: AnyKernel | None, rows: Matrix, settings: SequenceSettings) -> KernelChoice:
    """Select whatever is None, on a sample if there are many rows and they can be sampled."""
    is_given = kernel is not None and settings.n_components is not None and settings.bandwidth is not None
    numbers = sample_rows(rows.shape[0], SEARCH_ROWS, np.random.RandomState(settings.seed))
    if not is_given and len(numbers) < rows.shape[0] and (kernel is None or not has_fixed_rows(kernel)):
        rows = rows[numbers]
    return _compare_kernels(rows, settings) if kernel is None else _fit_kernel(kernel, rows, settings)


def _fit_kernel(kernel: AnyKernel, rows: Matrix, settings: SequenceSettings) -> KernelChoice:
    """Find the coordinates of one kernel."""
    count = settings.n_components
    most = min(MAX_AUTO_COMPONENTS, rows.shape[1]) if count is None else count
    bandwidths = BANDWIDTHS if settings.bandwidth is None else (settings.bandwidth,)
    operator = kernel_operator(kernel, rows, settings.seed)
    found = find_sequence(
        operator,
        make_solver(operator, settings.eigen_solver),
        rows,
        [(None,), *[bandwidths] * (most - 1)],
        settings.seed,
        stops=count is None,
        by_distances=_holds_distances(kernel, rows),
    )
    return KernelChoice(kernel, rows, operator, found, settings)


def _compare_kernels(rows: Matrix, settings: SequenceSettings) -> KernelChoice:
    """Return the best kernel of those that "auto" compares; warnings of the others are dropped."""
    preferred = "laplacian_eigenmaps"
    choices = {preferred: _fit_recorded(LaplacianEigenmaps(), rows, settings)}
    scores = {preferred: choices[preferred].found.unexplained}
    for name, kernel in _alternatives(choices[preferred]):
        try:
            choices[name] = _fit_recorded(kernel, rows, settings)
            scores[name] = choices[name].found.unexplained
        except UnsuitableKernelError:
            scores[name] = np.nan
    name = select_kernel({name: choice.found for name, choice in choices.items()})
    for warning in choices[name].messages:
        warnings.warn(warning.message, stacklevel=outside())
    return replace(choices[name], name=name, kernel_scores=scores)


def _alternatives(choice: KernelChoice) -> Iterator[tuple[str, AnyKernel]]:
    """Yield the kernels that may replace the preferred one, and their names; sparse rows suit only Isomap."""
    yield "isomap", Isomap()
    if sp.issparse(choice.rows):
        return
    yield "lle", LocallyLinear()
    near, count = choice.operator.near, choice.settings.n_components
    dimensions = 1.0 if near is None else intrinsic_dimension(near.distances)
    most = choice.rows.shape[0] if count is None else count
    yield "ltsa", TangentAlignment(n_directions=max(1, round(min(dimensions, most))))


def _fit_recorded(kernel: AnyKernel, rows: Matrix, settings: SequenceSettings) -> KernelChoice:
    """Find the coordinates of one kernel, and record warnings instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        choice = _fit_kernel(as_kernel(kernel, n_neighbors=settings.n_neighbors), rows, settings)
    return replace(choice, messages=caught)


def kernel_operator(kernel: AnyKernel, X: Matrix, seed: int) -> Operator:
    """Return the kernel on the rows of `X`; pointwise kernels by the features of landmarks."""
    if not kernel.is_pointwise:
        return kernel.operator_on(X)
    spectrum = spectrum_of(X, kernel, landmarks=_RANK, directions=_RANK, seed=seed)
    return feature_operator(spectrum.coordinates(X).astype(np.float64), spectrum.coordinates)


def _holds_distances(kernel: AnyKernel, X: Matrix) -> bool:
    """Whether `X` holds the distances of all pairs of rows."""
    is_square = not sp.issparse(X) and X.shape[0] == X.shape[1]
    return is_square and not kernel.is_pointwise and kernel.takes_precomputed
