"""Bagging autoencoders: the comparison of [Reeve2015, Sec. 4]."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from polyfold._typing import Matrix, RandomState
from polyfold.estimators._linear_autoencoder import LinearAutoencoder
from polyfold.estimators._spectral import warn_of_empty_columns
from polyfold.modular import bagged_autoencoders


class BaggingAutoencoder(LinearAutoencoder):
    """Fit every module to a separate bootstrap sample: linear autoencoders that differ by chance.

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
        spread = 0.0 if sp.issparse(X) else float(np.std(X[:1000] - means.mean(axis=0)))
        self._store_modules(encoders, encoders.transpose(0, 2, 1), means, spread)
