"""The rows and the kernel of a fit: landmarks of very many rows; kernel, bandwidths and number of coordinates."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._policy import BANDWIDTHS
from polyfold._typing import Matrix, Rows
from polyfold._validation import outside, own_rows
from polyfold.exceptions import UnsuitableKernelError
from polyfold.kernels import (
    GraphKernel,
    Isomap,
    Kernel,
    KernelLike,
    LaplacianEigenmaps,
    LocallyLinear,
    Operator,
    TangentAlignment,
    as_kernel,
    feature_operator,
    intrinsic_dimension,
    takes_precomputed,
)
from polyfold.neighbors import is_graph
from polyfold.nonredundant import (
    MAX_AUTO_COMPONENTS,
    Selected,
    Step,
    best_rotation,
    criterion,
    find_sequence,
    follow_bandwidths,
    sample_rows,
    select_kernel,
)
from polyfold.sources import all_or_some, in_memory, is_stream
from polyfold.spectra import make_solver, spectrum_of

AnyKernel = Kernel | GraphKernel
# Landmarks and directions of a pointwise kernel that the sequence may combine.
_RANK = 500


@dataclass(frozen=True)
class KernelChoice:
    """A kernel with its coordinates of the sample, and the scores of the kernels that were compared."""

    name: str | None
    kernel: AnyKernel
    operator: Operator
    found: Selected
    is_sample: bool
    rotates: bool
    kernel_scores: dict[str, float] = field(default_factory=dict)

    def fitted_to(self, rows: Matrix, seed: int, eigen_solver: str) -> tuple[Operator, list[Step]]:
        """Return the operator and the coordinates of all rows, with the selected bandwidths."""
        if not self.is_sample:
            return self.operator, self.found.steps
        operator = kernel_operator(self.kernel, rows, seed)
        alphas = [step.alpha for step in self.found.steps]
        return operator, follow_bandwidths(operator, make_solver(operator, eigen_solver), alphas, seed)

    def rotation(self, operator: Operator, F: NDArray, rows: Matrix, seed: int) -> NDArray:
        """Return the rotation of the coordinates `F`; those of a kernel with units keep their principal axes."""
        if not self.rotates or operator.has_units:
            return np.eye(F.shape[1])
        by_distances = _holds_distances(self.kernel, rows)
        R = best_rotation(criterion(operator, rows, seed, by_distances=by_distances), F)
        return R / (F @ R).std(axis=0)  # coordinates are uncorrelated in the measure of the kernel, nearly so in ours


@dataclass(frozen=True)
class KernelCandidates:
    """Kernels to compare: the first, and functions from the number of tangent directions to the others."""

    first: AnyKernel
    others: dict[str, Callable[[int], AnyKernel]]
    name: str | None

    def select(
        self, rows: Matrix, count: int | None, alpha: float | None, seed: int, eigen_solver: str
    ) -> KernelChoice:
        """Select whatever is not given, on a sample if there are many rows and something is to be selected."""
        is_open = count is None or alpha is None or bool(self.others)
        numbers = sample_rows(rows.shape[0], seed)
        is_sample = is_open and len(numbers) < rows.shape[0] and not _is_given(self.first)
        some = rows[numbers] if is_sample else rows
        most = min(MAX_AUTO_COMPONENTS, rows.shape[1]) if count is None else count
        alphas = [(None,), *[BANDWIDTHS if alpha is None else (alpha,)] * (most - 1)]

        def choice(name: str | None, kernel: AnyKernel) -> KernelChoice:
            operator = kernel_operator(kernel, some, seed)
            found = find_sequence(
                operator,
                make_solver(operator, eigen_solver),
                some,
                alphas,
                seed,
                stops=count is None,
                by_distances=_holds_distances(kernel, some),
            )
            return KernelChoice(name, kernel, operator, found, is_sample, alpha is None)

        if not self.others:
            return choice(self.name, self.first)
        return self._best(choice, some, count)

    def _best(
        self, choice: Callable[[str | None, AnyKernel], KernelChoice], rows: Matrix, count: int | None
    ) -> KernelChoice:
        """Compare the kernels; warnings of those that are not selected are dropped."""
        name = self.name or ""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            choices, messages = {name: choice(name, self.first)}, {name: caught}
        scores = {name: choices[name].found.unexplained}
        near = choices[name].operator.near
        dimensions = 1.0 if near is None else intrinsic_dimension(near.distances)
        directions = max(1, round(min(dimensions, rows.shape[0] if count is None else count)))
        for name, make in self.others.items():
            if sp.issparse(rows) and name not in _SPARSE:
                continue
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    choices[name], messages[name] = choice(name, make(directions)), caught
                except UnsuitableKernelError:
                    scores[name] = np.nan
                else:
                    scores[name] = choices[name].found.unexplained
        name = select_kernel({name: found.found for name, found in choices.items()})
        for warning in messages[name]:
            warnings.warn(warning.message, stacklevel=outside())
        return replace(choices[name], kernel_scores=scores)


# Kernels that need no dense rows.
_SPARSE = ("isomap",)


def kernel_candidates(kernel: KernelLike, *, n_neighbors: int | None, n_jobs: int | None) -> KernelCandidates:
    """Return the kernel that was given, or those that "auto" compares, the preferred one first."""

    def ready(given: KernelLike) -> AnyKernel:
        return as_kernel(given, n_neighbors=n_neighbors, n_jobs=n_jobs)

    if not is_auto(kernel):
        return KernelCandidates(ready(kernel), {}, None)
    others: dict[str, Callable[[int], AnyKernel]] = {
        "isomap": lambda _: ready(Isomap()),
        "lle": lambda _: ready(LocallyLinear()),
        "ltsa": lambda directions: ready(TangentAlignment(n_directions=directions)),
    }
    return KernelCandidates(ready(LaplacianEigenmaps()), others, "laplacian_eigenmaps")


def is_auto(kernel: KernelLike) -> bool:
    """Whether the kernel is to be selected."""
    return isinstance(kernel, str) and kernel == "auto"


def is_kernel_matrix(kernel: KernelLike) -> bool:
    """Whether `X` holds kernel values of all pairs of rows."""
    return takes_precomputed(kernel) and as_kernel(kernel).is_pointwise


def kernel_operator(kernel: AnyKernel, X: Matrix, seed: int) -> Operator:
    """Return the kernel on the rows of `X`; pointwise kernels by the features of landmarks."""
    if not kernel.is_pointwise:
        return kernel.operator_on(X)
    spectrum = spectrum_of(X, kernel, landmarks=_RANK, directions=_RANK, seed=seed)
    return feature_operator(spectrum.coordinates(X).astype(np.float64), spectrum.coordinates)


def rows_to_fit(
    X: Rows, kernel: AnyKernel, validate: Callable[[Rows], Matrix], seed: int
) -> tuple[Matrix, NDArray | None]:
    """Return checked rows that are not shared with the caller: those of `X`, or landmarks and their numbers.

    Landmarks represent very many rows if the kernel `takes_few`, for streams beyond the memory budget, and for very
    many rows of a cluster.
    """
    few = getattr(kernel, "takes_few", False)
    if not is_stream(X):
        rows = validate(X)
        chosen, numbers = all_or_some(rows, few=True, seed=seed) if few and not _is_given(kernel) else (rows, None)
        return own_rows(chosen, X) if numbers is None else chosen, numbers
    given, numbers = (in_memory(X), None) if _is_given(kernel) else all_or_some(X, few=few, seed=seed)
    return own_rows(validate(given), given), numbers


def _is_given(kernel: AnyKernel) -> bool:
    """Whether the user gave the neighbours or the kernel values of all rows, which have no others."""
    return kernel.takes_precomputed or is_graph(getattr(kernel, "neighbors", None))


def _holds_distances(kernel: AnyKernel, X: Matrix) -> bool:
    """Whether `X` holds the distances of all pairs of rows."""
    is_square = not sp.issparse(X) and X.shape[0] == X.shape[1]
    return is_square and not kernel.is_pointwise and kernel.takes_precomputed
