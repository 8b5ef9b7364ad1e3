"""The scikit-learn classes: orchestration only. Those the papers compare with are in `polyfold.baselines`."""

from polyfold.estimators._autoencoder import ModularAutoencoder
from polyfold.estimators._autoencoder_network import ModularAutoencoderNetwork
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork
from polyfold.estimators._bootstrap_clustering import BootstrapClustering
from polyfold.estimators._bootstrap_map import BootstrapMap
from polyfold.estimators._bootstrap_neighbors import BootstrapNeighborsTransformer
from polyfold.estimators._embedding import KernelEmbedding
from polyfold.estimators._kernel_clustering import KernelClustering
from polyfold.estimators._modular_kernel_pca import ModularKernelPCA
from polyfold.estimators._modular_regressor import ModularRegressor
from polyfold.estimators._nonredundant import NonRedundantEmbedding

__all__ = [
    "BootstrapClustering",
    "BootstrapMap",
    "BootstrapNeighborsTransformer",
    "KernelClustering",
    "KernelEmbedding",
    "ModularAutoencoder",
    "ModularAutoencoderNetwork",
    "ModularKernelPCA",
    "ModularRegressor",
    "MultilayerBootstrapNetwork",
    "NonRedundantEmbedding",
]
