"""Linear modular autoencoders: M encoders and decoders that reconstruct well and differently."""

from typing import Literal, Self

import numpy as np

from polyfold._progress import phase
from polyfold._threads import using_threads
from polyfold._typing import Matrix, RandomState, Rows
from polyfold._validation import draw_seed, keeps_state_on_failure
from polyfold.estimators._linear_autoencoder import LinearAutoencoder
from polyfold.estimators._modules import RemixMixin
from polyfold.estimators._spectral import warn_of_empty_columns
from polyfold.modular import as_autoencoders
from polyfold.spectra import Spectrum, linear_spectrum, update_linear_spectrum


class ModularAutoencoder(RemixMixin, LinearAutoencoder):
    r"""Learn linear autoencoders that reconstruct well and differently [Reeve2015]_.

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
        λ in [0, 1]. Beyond 1 the loss is unbounded below (Theorem 1 of the paper). For `inverse_transform` take λ near
        1, where the modules together reconstruct as PCA of M·H dimensions does; at 0 as PCA of H.
    solver : {"closed", "backfit", "gradient"}, default="closed"
        "closed" is the global optimum wherever a fusion frame exists (see ``loss_gap_``), in milliseconds.
        "backfit" is the paper's Algorithm 1, "gradient" batch gradient descent, its baseline.
    max_iter, tol : int and float
        As in :class:`ModularKernelPCA`.
    random_state : int, RandomState or None, default=None
        Seed of the frame or of the start; every seed gives an equally good, different set of modules.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    encoders_ : ndarray of shape (n_modules, n_components, n_features)
        The B_i.
    decoders_ : ndarray of shape (n_modules, n_features, n_components)
        The A_i; orthonormal columns, which fixes the scale of the codes.
    singular_values_ : ndarray of shape (r,)
        Of the centred data, descending.
    spectrum_ : Spectrum
        Of the linear kernel: squared singular values, principal directions and mean of the data.
    mean_ : ndarray of shape (n_features,)
    allocation_, loss_bound_, loss_gap_, loss_curve_, n_iter_ : array, floats and int
        As in :class:`ModularKernelPCA`.
    loss_ : float
        The loss reached, per sample: ``reconstruction_term_ - diversity * diversity_term_``.
    reconstruction_term_ : float
        Mean squared error of the single modules.
    diversity_term_ : float
        Mean squared distance of the modules' reconstructions from their mean.
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Notes
    -----
    Time O(N D min(N, D)) for the principal directions, milliseconds for the modules, memory O(D²) or O(N²),
    whichever is smaller; if both are thousands, only the top M·H directions are sought. Sparse data are
    centred without being filled in.

    `fit` starts again; `partial_fit` continues from the last call of `fit` or `partial_fit`.

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

    SOLVERS = ("closed", "backfit", "gradient")

    def __init__(
        self,
        n_modules: int = 10,
        n_components: int = 10,
        *,
        diversity: float = 0.5,
        solver: Literal["closed", "backfit", "gradient"] = "closed",
        max_iter: int = 500,
        tol: float = 1e-7,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_modules = n_modules
        self.n_components = n_components
        self.diversity = diversity
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _sums_blocks(self) -> bool:
        return True

    def _fit_rows(self, X: Matrix) -> None:
        self._seeds = draw_seed(self.random_state)
        with phase("directions"):
            spectrum = linear_spectrum(X, self._directions(), self._rng())
        with phase("modules"):
            self._fit_spectrum(spectrum)

    @keeps_state_on_failure
    def partial_fit(self, X: Rows, y: object = None) -> Self:
        """Fit to one more chunk of rows; the modules are those of all rows since the last `fit`, its own included.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : ModularAutoencoder
        """
        self._check_parameters()
        known: Spectrum | None = getattr(self, "spectrum_", None)
        X = self._validate(X, reset=known is None)
        if known is None:
            self._seeds = draw_seed(self.random_state)
        elif not known.is_complete:
            raise ValueError(
                f"partial_fit needs all directions of the rows fitted so far, got the top {known.rank} that fit has "
                "looked for in data this large; fit a new model with partial_fit from its first chunk on."
            )
        with using_threads(self.n_jobs):
            return self._fit_spectrum(update_linear_spectrum(known, X))

    def _fit_like(self, source: Self) -> Self:
        self._check_enough_directions(source)
        return self._fit_spectrum(source.spectrum_)

    def _fit_spectrum(self, spectrum: Spectrum) -> Self:
        d = np.sqrt(spectrum.eigenvalues)
        fit = self._fit_modules(d, spectrum.trace, spectrum.n_samples, None)
        decoders, encoders = as_autoencoders(fit, d)
        basis = spectrum.readout[:, : encoders.shape[2]]
        warn_of_empty_columns(self.n_components, spectrum.rank)
        means = np.broadcast_to(spectrum.shift, (self.n_modules, spectrum.shift.size))
        self._store_modules(encoders @ basis.T, basis @ decoders, means)
        self.spectrum_, self.singular_values_, self.mean_ = spectrum, d, spectrum.shift
        self.reconstruction_term_ = fit.single
        self.diversity_term_ = max(fit.single - fit.composite, 0.0)  # ambiguity decomposition
        self._store_fit(fit)
        return self

    def _directions(self) -> int:
        return self.n_modules * self.n_components

    def _rng(self) -> np.random.RandomState:
        """Randomness of the solver: the same for every refit and remix of one model."""
        return np.random.RandomState(self._seeds)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_diversity()
