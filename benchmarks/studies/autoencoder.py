"""Are small networks trained together faster than one after another?

The tables and figures of the paper are experiments (`python -m papers mae`). Design: ten modular regressors of one
output on 4,000 rows, four epochs, on two threads; all in one model against one model each.

Expected: together, a fraction of the time.
"""

from __future__ import annotations

import numpy as np

import polyfold as pf
from benchmarks._record import best_of


def networks(n_modules: int = 10) -> dict[str, float]:
    """Time of training small networks together over training them one after another."""
    import torch

    from polyfold.networks import ModularRegressor, Training

    X, _ = pf.datasets.make_gaussian_mixture(4000, n_features=20, random_state=0)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    training = Training(max_iter=4, batch_size=128, validation_fraction=0.0)

    def joint() -> None:
        ModularRegressor(n_modules, diversity=0.5, training=training, random_state=0).fit(X, y)

    def one_by_one() -> None:
        for seed in range(n_modules):
            ModularRegressor(1, diversity=0.0, training=training, random_state=seed).fit(X, y)

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        joint()
        together, apart = best_of(joint), best_of(one_by_one, 2)
    finally:
        torch.set_num_threads(threads)
    return {"together": together, "one_by_one": apart, "ratio": together / apart}


PARTS = {"networks": lambda _: networks()}
