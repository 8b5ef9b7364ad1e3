"""Every estimator once, in the smallest form that shows its behaviour; contracts run over these lists."""

from sklearn.linear_model import Ridge

import polyfold as pf
from polyfold import baselines, kernels

KERNELS = [
    kernels.Gaussian(),
    kernels.Laplacian(),
    kernels.Linear(),
    kernels.Polynomial(degree=2),
    kernels.Cosine(),
]

MODULAR = [
    pf.ModularKernelPCA(3, 2, diversity=0.8, random_state=0),
    pf.ModularKernelPCA(3, 2, diversity=0.8, solver="mbm", tol=1e-4, random_state=0),
    pf.ModularKernelPCA(3, 2, diversity=0.8, feature_map="nystroem", rank=20, random_state=0),
    pf.ModularKernelPCA(3, 2, diversity=0.8, feature_map="fourier", rank=20, random_state=0),
    pf.ModularKernelPCA(3, 2, diversity=0.8, kernel="linear", random_state=0),
    pf.ModularKernelPCA(2, 2, diversity=0.8, kernel="isomap", random_state=0),
    pf.ModularAutoencoder(3, 2, diversity=0.8, random_state=0),
    pf.ModularAutoencoder(3, 2, diversity=0.8, solver="backfit", tol=1e-4, random_state=0),
    baselines.BaggingAutoencoder(3, 2, random_state=0),
    baselines.PartitionKernelPCA(3, 2, random_state=0),
    baselines.RandomKernelPCA(3, 2, random_state=0),
    baselines.BootstrapKernelPCA(3, 2, random_state=0),
    baselines.MonolithicKernelPCA(4, random_state=0),
]

TRANSFORMERS = [
    *MODULAR,
    pf.KernelEmbedding(2, random_state=0),
    pf.NonRedundantEmbedding(2, random_state=0),
    pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=20, random_state=0),
    pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=20, neighbors="graph", random_state=0),
]

OTHERS = [
    pf.ModularClassifier(pf.ModularKernelPCA(3, 2, diversity=0.5, random_state=0)),
    pf.ModularNeighbors(pf.ModularKernelPCA(3, 2, random_state=0), n_neighbors=3),
    pf.BootstrapClustering(
        3,
        network=pf.MultilayerBootstrapNetwork(3, n_classes=3, n_clusterings=20, random_state=0),
        n_init=2,
        random_state=0,
    ),
    pf.Compressed(pf.KernelEmbedding(2, random_state=0), student=Ridge(), random_state=0),
]


def uses_graph(estimator):
    """Whether a neighbour graph is built, which refuses data without distances in its own words."""
    kernel = getattr(estimator, "kernel", None)
    return kernel is not None and isinstance(kernels.as_kernel(kernel), kernels.GraphKernel)


def name(estimator):
    """Short test id."""
    return repr(estimator).replace(" ", "").replace("\n", "")[:70]
