"""Every estimator and kernel, in the smallest form that shows its behaviour; contracts run over these lists.

Kernel and principle are independent: `KernelEmbedding` is listed with every kernel, other estimators with up to three.
An entry also lists the properties that it is exempt from, each with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

import polyfold as pf
from polyfold import baselines, kernels
from polyfold.kernels import DiffusionMaps

SharedCenters = kernels.SharedCenters


@dataclass(frozen=True)
class Entry:
    """An estimator, its input, and the properties that it is exempt from."""

    name: str
    estimator: Any
    takes: str = "rows"  # or "kernel", "distances": matrices of all pairs
    power: float = 0.0  # input · f gives output · f ** power
    minimum: int = 2  # rows from which a fit must succeed
    target: str = "none"  # or "classes", "values": what y holds
    precision: float = 1e-6  # agreement asked for, as a share of the largest output
    exact: Mapping[str, Any] = field(default_factory=dict)  # parameters under which no row is drawn by its number
    exempt: Mapping[str, str] = field(default_factory=dict)  # property -> reason
    needs_torch: bool = False  # its tests are marked torch

    def new(self) -> Any:
        """Return an unfitted copy."""
        return clone(self.estimator)

    def exactly(self) -> "Entry":
        """Return the entry with the parameters that leave nothing to the numbers of the rows."""
        return replace(self, estimator=self.new().set_params(**self.exact))

    def has_modules(self) -> bool:
        """Whether the output has modules."""
        return hasattr(self.estimator, "transform_modules")

    def transforms(self) -> bool:
        """Whether the output is coordinates."""
        return hasattr(self.estimator, "transform")

    def given(self, X: Any, train: Any = None) -> Any:
        """Return what `fit` takes for the rows `X`, or `transform` for `X` after `train`."""
        others = X if train is None else train
        if self.takes == "kernel":
            return X @ others.T
        return cdist(X, others) if self.takes == "distances" else X

    def y(self, n: int) -> Any:
        """Return targets for n rows."""
        if self.target == "classes":
            return np.arange(n) % 2
        return np.sin(np.arange(n)) if self.target == "values" else None

    def __repr__(self) -> str:
        return self.name


def user_kernel(X: Any, Y: Any) -> Any:
    """Stand in for a kernel that the user wrote."""
    return rbf_kernel(X, Y, gamma=0.1)


POINTWISE = {
    "rbf": kernels.Gaussian(),
    "laplacian": kernels.Laplacian(),
    "linear": kernels.Linear(),
    "poly": kernels.Polynomial(degree=2),
    "cosine": kernels.Cosine(),
    "shared_centers": SharedCenters(n_classes=3, n_clusterings=30),
    "callable": user_kernel,
}
GRAPH = {
    "laplacian_eigenmaps": kernels.LaplacianEigenmaps(),
    "lle": kernels.LocallyLinear(),
    "hessian_lle": kernels.HessianLLE(),
    "ltsa": kernels.TangentAlignment(),
    "isomap": kernels.Isomap(),
    "diffusion": kernels.DiffusionMaps(),
}
# Functions of two points that are one formula, without a network behind them.
KERNELS = [kernel for name, kernel in POINTWISE.items() if name not in ("shared_centers", "callable")]

_UNITS = {"linear": 1.0, "isomap": 1.0}
_BY_NUMBER = "rows are drawn by their number"
_OWN_CENTRE = {
    "order": f"{_BY_NUMBER}: centres",
    "rotation": "centres are compared on random subsets of the columns",
}
_KERNEL_EXEMPT: dict[str, dict[str, str]] = {
    "laplacian": {"rotation": "Manhattan distances depend on the axes"},
    "poly": {
        "origin": "a power of the inner product, which depends on the origin",
        "scale": "γ x·y + 1 is not homogeneous",
        "constant_columns": "γ is one over the number of columns",
    },
    "cosine": {"origin": "angles are seen from the origin"},
    "callable": {
        "origin": "the user's function, in the user's arithmetic",
        "scale": "the user's function has a width of its own",
        "huge": "whether 1e200 is too large for the user's function is the user's knowledge",
    },
    "shared_centers": _OWN_CENTRE,
}
# d(d + 3)/2 + 1 neighbours and the point itself for Hessians of d = 2, three and itself for planes.
_MINIMUM = {"hessian_lle": 7, "ltsa": 5}


def _on_kernel(make: Any, label: str, kernel_name: str, kernel: Any, **changes: Any) -> Entry:
    least = max(changes.pop("minimum", 2), _MINIMUM.get(kernel_name, 3 if kernel_name in GRAPH else 2))
    if kernel_name == "shared_centers":
        least = max(least, 5)
    exempt = {**_KERNEL_EXEMPT.get(kernel_name, {}), **changes.pop("exempt", {})}
    power = changes.pop("power", _UNITS.get(kernel_name, 0.0))
    return Entry(f"{label}-{kernel_name}", make(kernel), power=power, minimum=least, exempt=exempt, **changes)


def _embedding(kernel: Any) -> Any:
    return pf.KernelEmbedding(2, kernel=kernel, random_state=0)


def _nonredundant(kernel: Any) -> Any:
    return pf.NonRedundantEmbedding(2, kernel=kernel, random_state=0)


def _modular(kernel: Any) -> Any:
    return pf.ModularKernelPCA(2, 2, diversity=0.8, kernel=kernel, random_state=0)


def _selected(kernel: Any) -> Any:
    return baselines.SelectedEmbedding(2, kernel=kernel, random_state=0)


def _sequential(kernel: Any) -> Any:
    return baselines.SequentialRegressionEmbedding(2, kernel=kernel, random_state=0)


# Lanczos draws its start by the numbers of the rows.
_WITHOUT_START = {"eigen_solver": "dense"}
ALL_KERNELS = {**POINTWISE, **GRAPH}
_IN_MEMORY = {"blocks": "`fit` takes all rows at once, as documented"}
_DENSE_ONLY = {"sparse": "takes dense rows only, as documented", **_IN_MEMORY}


def _on(*names: str) -> list[tuple[str, Any]]:
    return [(name, ALL_KERNELS[name]) for name in names]


EMBEDDINGS = [
    *(_on_kernel(_embedding, "KernelEmbedding", *item) for item in ALL_KERNELS.items()),
    *(
        _on_kernel(_nonredundant, "NonRedundantEmbedding", *item, minimum=3, exact=_WITHOUT_START)
        for item in _on("laplacian_eigenmaps", "rbf")
    ),
    *(
        _on_kernel(_selected, "SelectedEmbedding", *item, minimum=3, exempt=_DENSE_ONLY)
        for item in _on("laplacian_eigenmaps")
    ),
    *(
        _on_kernel(_sequential, "SequentialRegressionEmbedding", *item, minimum=3, power=0.0, exempt=_DENSE_ONLY)
        for item in _on("isomap")
    ),
]

_LANDMARKS = {
    "order": f"{_BY_NUMBER}: landmarks",
    "chunks": "landmarks are drawn from the rows that have come when there are enough",
}
_STOCHASTIC = {"order": f"{_BY_NUMBER}: minibatches"}
_DRAWN_ROWS = {"order": f"{_BY_NUMBER}: bootstrap samples"}
_OWN_BASIS = {"rotation": "frames are drawn in the principal directions, whose signs follow the columns of X"}
_FOURIER = {
    "rotation": "random frequencies are drawn along the axes",
    "chunks": "frequencies take their width from the rows that have come first",
}


def _variant(label: str, exempt: Mapping[str, str], **changes: Any) -> Entry:
    model = pf.ModularKernelPCA(2, 2, diversity=0.8, random_state=0).set_params(**changes)
    return Entry(f"ModularKernelPCA-{label}", model, exempt=exempt)


def _autoencoder(solver: str) -> Entry:
    model = pf.ModularAutoencoder(3, 2, diversity=0.8, solver=solver, tol=1e-4, random_state=0)
    return Entry(f"ModularAutoencoder-{solver}", model, power=1.0, exempt=_OWN_BASIS)


MODULAR = [
    *(
        _on_kernel(_modular, "ModularKernelPCA", *item, exempt=_OWN_BASIS if item[0] == "linear" else {})
        for item in _on("rbf", "isomap", "linear")
    ),
    # Solvers and feature maps whose contract differs.
    _variant("sgd", _STOCHASTIC, solver="sgd", tol=1e-2),
    _variant("beyond_the_rank", _LANDMARKS, rank=10),
    _variant("fourier", _FOURIER, feature_map="fourier", rank=20),
    _autoencoder("closed"),
    _autoencoder("backfit"),
    Entry(
        "BaggingAutoencoder",
        baselines.BaggingAutoencoder(3, 2, random_state=0),
        power=1.0,
        exempt={**_DRAWN_ROWS, **_OWN_BASIS},
    ),
    Entry("PartitionKernelPCA", baselines.PartitionKernelPCA(3, 2, random_state=0)),
    Entry(
        "RandomKernelPCA",
        baselines.RandomKernelPCA(3, 2, random_state=0),
        exempt={"single": "directions are drawn among those that are resolved, fewer in single precision"},
    ),
    Entry("BootstrapKernelPCA", baselines.BootstrapKernelPCA(3, 2, random_state=0), exempt=_DRAWN_ROWS),
    Entry("MonolithicKernelPCA", baselines.MonolithicKernelPCA(4, random_state=0)),
]


def _bootstrap(label: str, **changes: Any) -> Entry:
    exempt = {**_OWN_CENTRE, **changes.pop("exempt", {})}
    takes = changes.pop("takes", "rows")
    model = pf.MultilayerBootstrapNetwork(
        2, n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0
    ).set_params(**changes)
    return Entry(f"MultilayerBootstrapNetwork-{label}", model, takes=takes, minimum=5, exempt=exempt)


_GIVEN = {
    "origin": "the caller chose the origin when the matrix was made",
    "rotation": "the matrix of pairs does not change",
    "huge": "one huge row is not a matrix of pairs",
}
_DISTANCES = {**_GIVEN, "scikit_learn": "its checks pass kernel values where pairs are asked for, not distances"}
BOOTSTRAP = [
    _bootstrap("exact", neighbors="exact"),
    _bootstrap("precomputed", metric="precomputed", takes="distances", exempt=_DISTANCES),
]


PRECOMPUTED = [
    Entry("KernelEmbedding-precomputed", _embedding("precomputed"), "kernel", 0.5, exempt=_GIVEN),
    Entry(
        "NonRedundantEmbedding-precomputed",
        _nonredundant("precomputed"),
        "kernel",
        0.5,
        3,
        exact=_WITHOUT_START,
        exempt=_GIVEN,
    ),
    Entry(
        "KernelEmbedding-isomap_of_distances",
        _embedding(kernels.Isomap(neighbors="precomputed")),
        "distances",
        1.0,
        3,
        exempt=_DISTANCES,
    ),
]

ENSEMBLES = [
    Entry("ModularClassifier", pf.ModularClassifier(_modular("rbf")), target="classes", exempt=_IN_MEMORY),
    *(
        Entry(
            f"ModularNeighbors-{engine}",
            pf.ModularNeighbors(_modular("linear"), n_neighbors=2, engine=engine),
            power=1,
            minimum=3,
        )
        for engine in ("sklearn", *(["faiss"] if find_spec("faiss") else []))
    ),
    Entry(
        "BootstrapClustering",
        pf.BootstrapClustering(
            3,
            network=pf.MultilayerBootstrapNetwork(
                3, n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0
            ),
            random_state=0,
        ),
        minimum=5,
        exempt=_OWN_CENTRE,
    ),
    Entry(
        "BootstrapClustering-chosen",
        pf.BootstrapClustering(
            network=pf.MultilayerBootstrapNetwork(2, n_classes=2, n_clusterings=50, random_state=0),
            random_state=0,
        ),
        minimum=5,
        exempt=_OWN_CENTRE,
    ),
    Entry("KernelClustering", pf.KernelClustering(3, random_state=0), minimum=5, exempt=_OWN_CENTRE),
    Entry(
        "KernelClustering-rbf",
        pf.KernelClustering(3, kernel="rbf", random_state=0),
        minimum=5,
    ),
    Entry(
        "KernelClustering-diffusion",
        pf.KernelClustering(3, kernel=DiffusionMaps(4), random_state=0),
        minimum=6,
    ),
    Entry(
        "BootstrapMap",
        pf.BootstrapMap(
            network=pf.MultilayerBootstrapNetwork(n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0),
            layout="spectral",
            random_state=0,
        ),
        minimum=5,
        exempt=_OWN_CENTRE,
    ),
    Entry(
        "BootstrapNeighborsTransformer",
        pf.BootstrapNeighborsTransformer(
            2,
            network=pf.MultilayerBootstrapNetwork(
                2, n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0
            ),
        ),
        minimum=5,
        exempt={**_OWN_CENTRE, "table": "a sparse graph does not fit into a data frame"},
    ),
    Entry(
        "Compressed",
        pf.Compressed(_embedding("rbf"), student=Ridge(), random_state=0),
        exempt={
            **_IN_MEMORY,
            "order": f"{_BY_NUMBER}: held-out rows",
            "rotation": "columns are standardised one by one",
            "uint8": "bytes are divided by 255, other columns standardised, as documented",
            "sparse_values": "sparse columns are scaled, not shifted, as documented",
            "train": "a student is an approximation of its teacher, not of itself",
        },
    ),
]


_TRAINING = pf.networks.Training(max_iter=15, learning_rate=0.01, validation_fraction=0.0)
# scikit-learn asks a regressor for R² above one half.
_LONGER = pf.networks.Training(max_iter=40, learning_rate=0.05, validation_fraction=0.0)
# Float32 inside: 15 steps carry rounding of 6e-8 up to some 1e-5.
_NETWORK = {
    "precision": 1e-3,
    "minimum": 1,
    "exempt": {**_DENSE_ONLY, "rotation": "weights start at random in the axes of X"},
    "needs_torch": True,
}
NETWORKS = [
    Entry(
        "ModularRegressor",
        pf.networks.ModularRegressor(2, training=_LONGER, random_state=0),
        target="values",
        **_NETWORK,
    ),
    Entry(
        "ModularAutoencoderNetwork",
        pf.networks.ModularAutoencoderNetwork(
            2, 2, training=_TRAINING, architecture=pf.networks.MLP((4,)), random_state=0
        ),
        **_NETWORK,
    ),
]
ENTRIES = [*EMBEDDINGS, *MODULAR, *BOOTSTRAP, *PRECOMPUTED, *ENSEMBLES, *NETWORKS]


# The first entry of every class, and one for every other kind of input: for contracts that no kernel or solver changes.
ONE_EACH = list({(type(entry.estimator), entry.takes): entry for entry in reversed(ENTRIES)}.values())[::-1]


def entries(*properties: str, only: Any = ENTRIES) -> list[Entry]:
    """Return the entries that no given property exempts."""
    return [entry for entry in only if not set(properties) & set(entry.exempt)]
