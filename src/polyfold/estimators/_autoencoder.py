"""Linear modular autoencoders: M encoders and decoders that reconstruct well and differently."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from polyfold._running import blas_threads
from polyfold._validation import check_choice, check_count, check_real
from polyfold.estimators._diversity import RemixMixin, check_diversity, relative_gap, warn_unconverged
from polyfold.estimators._linear_autoencoder import LinearAutoencoder
from polyfold.kernels import IdentityFeatures
from polyfold.modular import (
    AutoencoderSolution,
    Directions,
    autoencoder_terms,
    bound_of,
    directions_from_moments,
    directions_of,
    empty_moments,
    solve_backfit,
    solve_closed_autoencoder,
    solve_gradient,
    waterfill,
)

__all__ = ["ModularAutoencoder"]

ITERATIVE = {"backfit": solve_backfit, "gradient": solve_gradient}


class ModularAutoencoder(RemixMixin, LinearAutoencoder):
    r"""Learn M linear autoencoders of H dimensions that reconstruct well and differently [Reeve2015]_.

    .. math::
        \min_{A_i, B_i} \frac1N \sum_x \Big( \frac1M \sum_i \|A_i B_i x - x\|^2
        - \lambda\, \frac1M \sum_i \|A_i B_i x - \overline{AB} x\|^2 \Big)

    over decoders :math:`A_i` (D × H) and encoders :math:`B_i` (H × D), for centred data. λ = 0 gives M times the
    same PCA, λ = 1 one autoencoder with M·H hidden units, cut in pieces.

    Parameters
    ----------
    n_modules : int, default=10
        M, the number of modules.
    n_components : int, default=10
        H, the dimensions of every module.
    diversity : float, default=0.5
        λ in [0, 1]. Beyond 1 the loss is unbounded below (Theorem 1 of the paper).
    solver : {"closed", "backfit", "gradient"}, default="closed"
        "closed" is the global optimum wherever a fusion frame exists (see ``loss_gap_``), in milliseconds.
        "backfit" is the paper's Algorithm 1, "gradient" batch gradient descent, its rival.
    max_iter : int, default=500
        Epochs of the iterative solvers.
    tol : float, default=1e-7
        Relative fall of the loss below which they stop.
    random_state : int, RandomState or None, default=None
        Seed of the frame or of the start; every seed gives an equally good, different set of modules.
    n_jobs : int, default=None
        Threads of BLAS; None leaves its own setting.

    Attributes
    ----------
    encoders_ : ndarray of shape (n_modules, n_components, n_features)
        The B_i.
    decoders_ : ndarray of shape (n_modules, n_features, n_components)
        The A_i; orthonormal columns, which fixes the scale of the codes.
    singular_values_ : ndarray of shape (r,)
        Of the centred data, descending.
    mean_ : ndarray of shape (n_features,)
    loss_ : float
        The loss reached, per sample: ``reconstruction_term_ - diversity * diversity_term_``.
    loss_bound_ : float
        Lower bound of the loss over all modules.
    loss_gap_ : float
        ``(loss_ - loss_bound_) / loss_bound_``: zero at a proven global optimum.
    reconstruction_term_ : float
        Mean squared error of the single modules.
    diversity_term_ : float
        Mean squared distance of the modules' reconstructions from their mean.
    loss_curve_ : list of float
        Loss after every epoch; one entry for the closed form.
    n_iter_ : int
        Number of epochs; one for the closed form.
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where `X` has column names that are strings.

    Notes
    -----
    Time O(N D min(N, D)) for the principal directions, milliseconds for the modules, memory O(D²) or O(N²),
    whichever is smaller; where both are thousands only the top M·H directions are sought. Sparse data are
    centred without being filled in.

    References
    ----------
    .. [Reeve2015] Reeve, Brown: Modular Autoencoders for Ensemble Feature Extraction. JMLR W&CP 44, 2015.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> model = pf.ModularAutoencoder(5, 6, diversity=0.8, random_state=0).fit(X)
    >>> model.transform_modules(X).shape
    (5, 1797, 6)
    >>> model.inverse_transform(model.transform(X)).shape
    (1797, 64)
    """

    def __init__(
        self,
        n_modules: int = 10,
        n_components: int = 10,
        *,
        diversity: float = 0.5,
        solver: str = "closed",
        max_iter: int = 500,
        tol: float = 1e-7,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_modules = n_modules
        self.n_components = n_components
        self.diversity = diversity
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : ModularAutoencoder
        """
        X = self._validate(X, reset=True, minimum=2)
        self._check_parameters()
        self._seed = _draw_seed(self.random_state)
        self.__dict__.pop("_moments", None)
        with blas_threads(self.n_jobs):
            directions = directions_of(X, self.n_modules * self.n_components, self._rng())
            return self._solve(directions)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Fit to one more chunk of rows; the modules are those of all chunks since the first `partial_fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : ModularAutoencoder
        """
        first = not hasattr(self, "_moments")
        X = self._validate(X, reset=first, minimum=2 if first else 1)
        self._check_parameters()
        if first:
            self._seed = _draw_seed(self.random_state)
            self._moments = empty_moments(X)
        with blas_threads(self.n_jobs):
            self._moments.add(IdentityFeatures(X.shape[1]), X)
            return self._solve(directions_from_moments(self._moments))

    def _solve_like(self, source: Self) -> Self:
        source._check_enough_directions(self.n_modules * self.n_components)
        self._seed = source._seed
        if hasattr(source, "_moments"):
            self._moments = deepcopy(source._moments)
        return self._solve(source.directions_)

    def _solve(self, directions: Directions) -> Self:
        self.directions_ = directions
        self.singular_values_, self.mean_ = directions.values, directions.mean
        self._warn_of_empty_columns(directions.values.size)
        solution = self._solution()
        basis = directions.basis[:, : solution.encoders.shape[2]]
        self.encoders_ = solution.encoders @ basis.T
        self.decoders_ = basis @ solution.decoders
        self.means_ = np.broadcast_to(directions.mean, (self.n_modules, directions.mean.size))
        self._store_losses(solution)
        return self

    def _solution(self) -> AutoencoderSolution:
        problem = (self.singular_values_, self.n_modules, self.n_components, self.diversity, self._rng())
        if self.solver == "closed" or self.singular_values_.size == 0:
            return solve_closed_autoencoder(*problem)
        return ITERATIVE[self.solver](*problem, max_iter=self.max_iter, tol=self.tol)

    def _store_losses(self, solution: AutoencoderSolution) -> None:
        n, d, energy = self.directions_.n_samples, self.singular_values_, self.directions_.energy
        single, composite = autoencoder_terms(solution.decoders, solution.encoders, d, energy)
        self.reconstruction_term_ = single / n
        self.diversity_term_ = max(single - composite, 0.0) / n  # ambiguity decomposition
        self.loss_ = ((1 - self.diversity) * single + self.diversity * composite) / n
        self.loss_bound_ = self._bound()
        self.loss_gap_ = relative_gap(self.loss_, self.loss_bound_, energy / n)
        outside = self._energy_outside(d.size)
        self.loss_curve_ = [loss / n + outside for loss in solution.loss_curve] or [self.loss_]
        self.n_iter_ = len(self.loss_curve_)
        if not solution.converged:
            warn_unconverged(self)

    def _energy_outside(self, k: int) -> float:
        """Return what no module can reach, per sample: the directions that were not sought."""
        known = float(np.sum(self.singular_values_[:k] ** 2))
        return max(self.directions_.energy - known, 0.0) / self.directions_.n_samples

    def _bound(self) -> float:
        d = self.singular_values_[: self.n_modules * self.n_components]
        if d.size == 0:
            return self.directions_.energy / self.directions_.n_samples
        allocation = waterfill(d, self.n_modules, self.n_components, self.diversity)
        bound = bound_of(d, allocation, self.n_modules, self.diversity, self.directions_.energy)
        return bound / self.directions_.n_samples

    def _check_enough_directions(self, wanted: int) -> None:
        """Refuse to remix beyond what a search for a few directions has found."""
        found = self.singular_values_.size
        complete = self._energy_outside(found) <= 1e-9 * self.directions_.energy / self.directions_.n_samples
        if wanted > found and not complete:
            raise ValueError(
                f"n_modules * n_components must be <= {found}, the directions this model has found, got {wanted}; "
                "fit with the new parameters."
            )

    def _rng(self) -> np.random.RandomState:
        """Randomness of the solver: the same for every refit and remix of one model."""
        return np.random.RandomState(self._seed)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_diversity(self.diversity)
        check_choice("solver", self.solver, ("closed", *ITERATIVE))
        check_count("max_iter", self.max_iter)
        check_real("tol", self.tol, minimum=0)


def _draw_seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
