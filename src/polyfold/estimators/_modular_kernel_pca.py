"""Modular kernel PCA: M diverse modules of one kernel."""

from typing import Literal, Self

import numpy as np

from polyfold._typing import Matrix, RandomState
from polyfold.estimators._modules import ModularTransformer, RemixMixin
from polyfold.kernels import FeatureMap, KernelLike
from polyfold.modular import DATA_SOLVERS
from polyfold.spectra import Spectrum


class ModularKernelPCA(RemixMixin, ModularTransformer):
    r"""Learn M complementary kernel PCA modules of H dimensions [Reeve2018]_.

    .. math::
        \min_{\varphi_1 \dots \varphi_M} \frac{1 - \lambda}{M} \sum_m L(\varphi_m) + \lambda L(\bar\varphi), \qquad
        L(\varphi) = \frac{1}{N^2} \sum_{i,j} (\varphi(x_i) \cdot \varphi(x_j) - k(x_i, x_j))^2

    where the composite :math:`\bar\varphi` stacks all modules, scaled by :math:`1/\sqrt{M}`. λ = 0 gives M times
    the same kernel PCA, λ = 1 modules that only together preserve the kernel.

    Parameters
    ----------
    n_modules : int, default=15
        Number M of modules. More modules preserve more of the kernel together, and need more time and memory.
    n_components : int, default=20
        Dimensions H of each module. With more dimensions, each module alone is more accurate.
    diversity : float, default=0.99
        λ in [0, 1]. Larger values make the modules more different: alone they preserve less of the kernel, together
        more. Search works best with values near 1, votes with 0.5 to 0.95; :func:`polyfold.select_diversity` finds one.
        At λ = 1 the optimum is not unique, and the limit of the optima for λ → 1 is taken. Beyond 1 the loss has no
        minimum.
    kernel : str, kernel object or callable, default="rbf"
        A name or object of :mod:`polyfold.kernels`, a function of two matrices of rows, or "precomputed".
        The Gaussian takes γ from the mean distance of the data unless given.
    feature_map : {"auto", "exact", "nystroem", "fourier"} or features, default="auto"
        How the kernel of many rows is approximated. "auto" is exact up to ``2 * rank`` points and Nyström beyond;
        fitted features of :mod:`polyfold.kernels` are used as they are.
    rank : int, default=1000
        Number R of landmarks or random features, and of directions kept. Larger values approximate the kernel more
        closely; memory grows with R².
    solver : {"closed", "mbm", "adam", "sgd", "drop-module"}, default="closed"
        "closed" is the global optimum wherever a fusion frame exists (see ``loss_gap_``), in milliseconds.
        The others are the paper's algorithm and its baselines, for comparison.
    max_iter : int, default=500
        Epochs of the iterative solvers.
    tol : float, default=1e-7
        The iterative solvers stop if the loss falls by less than this fraction.
    random_state : int, RandomState or None, default=None
        Seed of the landmarks and of the frame; every seed gives an equally good, different set of modules.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    components_ : ndarray of shape (n_modules, n_components, k)
        Maps of the modules on the first k = min(rank, n_modules * n_components) coordinates of the spectrum.
    eigenvalues_ : ndarray of shape (r,)
        Of the centred kernel matrix, descending.
    allocation_ : ndarray of shape (k,)
        Total weight of every direction in all modules: the n_j of the closed form.
    loss_ : float
        The modular loss reached.
    loss_bound_ : float
        Lower bound of the modular loss over all modules.
    loss_gap_ : float
        ``(loss_ - loss_bound_) / loss_bound_``: zero at a proven global optimum.
    loss_curve_ : list of float
        Loss after every epoch; one entry for the closed form.
    n_iter_ : int
        Number of epochs; one for the closed form.
    spectrum_ : Spectrum
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Notes
    -----
    Time O(N R (D + R) + R³), memory O(R² + a block of rows) for `fit`. Modules cost milliseconds on top, so
    `remix` and `diversity_path` explore without touching the data again.

    `fit` starts again; `partial_fit` continues from the last call of `fit` or `partial_fit`.

    References
    ----------
    .. [Reeve2018] Reeve, Mu, Brown: Modular Dimensionality Reduction. ECML PKDD 2018.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> model = pf.ModularKernelPCA(5, 8, diversity=0.9, random_state=0).fit(X)
    >>> model.transform_modules(X).shape
    (5, 1797, 8)
    >>> bool(model.loss_gap_ < 1e-9)
    True
    """

    SOLVERS = ("closed", "mbm", "adam", *DATA_SOLVERS)

    def __init__(
        self,
        n_modules: int = 15,
        n_components: int = 20,
        *,
        diversity: float = 0.99,
        kernel: KernelLike = "rbf",
        feature_map: FeatureMap = "auto",
        rank: int = 1000,
        solver: Literal["closed", "mbm", "adam", "sgd", "drop-module"] = "closed",
        max_iter: int = 500,
        tol: float = 1e-7,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_modules = n_modules
        self.n_components = n_components
        self.diversity = diversity
        self.kernel = kernel
        self.feature_map = feature_map
        self.rank = rank
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_spectrum(self, spectrum: Spectrum, X: Matrix) -> Self:
        d = spectrum.eigenvalues
        coordinates = spectrum.coordinates(X) if self.solver in DATA_SOLVERS else None
        fit = self._fit_modules(d, spectrum.energy, float(spectrum.n_samples) ** 2, coordinates)
        self._store_maps(spectrum, fit.factors / np.sqrt(d[: fit.factors.shape[2]]))
        self._store_fit(fit)
        return self

    def _fit_like(self, source: Self) -> Self:
        if self.solver in DATA_SOLVERS:
            raise ValueError(
                f"remix needs a solver that works on the spectrum alone ('closed', 'mbm' or 'adam'), "
                f"got solver={self.solver!r}; set the solver and fit, or call fit with the new parameters."
            )
        if source._builder is None:
            self._check_enough_directions(source)
        else:  # all directions up to `rank` are known
            self._builder = source._builder.copy()
        return self._fit_spectrum(source.spectrum_, None)

    def _check_incremental(self) -> bool:
        if self.solver in DATA_SOLVERS:
            raise AttributeError(
                f"partial_fit needs a solver that works on the spectrum alone ('closed', 'mbm' or 'adam'), "
                f"got solver={self.solver!r}; use fit."
            )
        return super()._check_incremental()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_diversity()
        if self.solver == "drop-module" and self.diversity == 0:
            raise ValueError(
                "diversity must be > 0 with solver='drop-module', got 0: the probability of keeping a module would "
                "be zero; use solver='closed'."
            )
