"""The modular representations that ours are compared with [Reeve2018, Sec. 6.2; Reeve2015, Sec. 4]."""

from typing import Self

import numpy as np
from sklearn.utils import check_random_state

from polyfold._typing import Matrix, RandomState
from polyfold.estimators._linear_autoencoder import LinearAutoencoder
from polyfold.estimators._modules import ModularTransformer
from polyfold.estimators._spectral import warn_of_empty_columns
from polyfold.kernels import FeatureMap, KernelLike
from polyfold.modular import bagged_autoencoders, bootstrap_maps, partition_maps, random_maps
from polyfold.spectra import Spectrum


class _Baseline(ModularTransformer):
    """Constructor shared by the baselines."""

    def __init__(
        self,
        n_modules: int = 15,
        n_components: int = 20,
        *,
        kernel: KernelLike = "rbf",
        feature_map: FeatureMap = "auto",
        rank: int = 1000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_modules = n_modules
        self.n_components = n_components
        self.kernel = kernel
        self.feature_map = feature_map
        self.rank = rank
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class PartitionKernelPCA(_Baseline):
    """Divide the top M·H kernel principal components among modules at random.

    Parameters
    ----------
    n_modules, n_components, kernel, feature_map, rank, random_state : optional
        As in :class:`polyfold.ModularKernelPCA`.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    components_ : ndarray of shape (n_modules, n_components, k)
        Maps of the modules on the first k coordinates of the spectrum.
    eigenvalues_ : ndarray of shape (r,)
    spectrum_ : Spectrum
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator
    """

    def _fit_spectrum(self, spectrum: Spectrum, X: Matrix) -> Self:
        maps = partition_maps(spectrum.rank, self.n_modules, self.n_components, self._rng())
        return self._store_maps(spectrum, maps)


class RandomKernelPCA(_Baseline):
    """Project the empirical kernel map onto random directions of unit length.

    Parameters and attributes are those of :class:`PartitionKernelPCA`.
    """

    def _fit_spectrum(self, spectrum: Spectrum, X: Matrix) -> Self:
        maps = random_maps(spectrum.rank, self.n_modules, self.n_components, self._rng())
        return self._store_maps(spectrum, maps)


class BootstrapKernelPCA(_Baseline):
    """Fit kernel PCA to a bootstrap sample per module: bagging of representations.

    Parameters and attributes are those of :class:`PartitionKernelPCA`.
    """

    def _fit_spectrum(self, spectrum: Spectrum, X: Matrix) -> Self:
        coordinates = spectrum.coordinates(X)
        maps, offsets = bootstrap_maps(coordinates, self.n_modules, self.n_components, self._rng())
        return self._store_maps(spectrum, maps, offsets)

    def _check_incremental(self) -> bool:
        raise AttributeError("partial_fit cannot draw bootstrap samples of rows that are not kept; use fit.")


class MonolithicKernelPCA(_Baseline):
    """Keep the top kernel principal components in one piece.

    Parameters and attributes are those of :class:`PartitionKernelPCA`, except `n_components`, which comes first
    (default 300), and `n_modules` (default 1): the piece has ``n_modules * n_components`` dimensions, so that the
    settings of a modular representation carry over.
    """

    def __init__(
        self,
        n_components: int = 300,
        *,
        n_modules: int = 1,
        kernel: KernelLike = "rbf",
        feature_map: FeatureMap = "auto",
        rank: int = 1000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            n_modules,
            n_components,
            kernel=kernel,
            feature_map=feature_map,
            rank=rank,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _fit_spectrum(self, spectrum: Spectrum, X: Matrix) -> Self:
        width = self.n_modules * self.n_components
        return self._store_maps(spectrum, np.eye(width, min(width, spectrum.rank))[None])


class BaggingAutoencoder(LinearAutoencoder):
    """Fit a linear autoencoder to one bootstrap sample per module.

    Parameters
    ----------
    n_modules : int, default=10
        M, the number of modules.
    n_components : int, default=10
        H, the dimensions of every module.
    random_state : int, RandomState or None, default=None
        Seed of the samples.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    encoders_ : ndarray of shape (n_modules, n_components, n_features)
        Top principal directions of every sample.
    decoders_ : ndarray of shape (n_modules, n_features, n_components)
        Their transposes.
    means_ : ndarray of shape (n_modules, n_features)
        Mean of every sample.
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    References
    ----------
    .. [Reeve2015] Reeve, Brown: Modular Autoencoders for Ensemble Feature Extraction. JMLR W&CP 44, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from polyfold.baselines import BaggingAutoencoder
    >>> BaggingAutoencoder(3, 5, random_state=0).fit_transform(load_digits().data).shape
    (1797, 15)
    """

    def __init__(
        self,
        n_modules: int = 10,
        n_components: int = 10,
        *,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_modules = n_modules
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_rows(self, X: Matrix) -> None:
        rng = check_random_state(self.random_state)
        encoders, means, fewest = bagged_autoencoders(X, self.n_modules, self.n_components, rng)
        warn_of_empty_columns(self.n_components, fewest)
        self._store_modules(encoders, encoders.transpose(0, 2, 1), means)
