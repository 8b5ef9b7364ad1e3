"""The scikit-learn classes: orchestration only."""

from polyfold.estimators._autoencoder import ModularAutoencoder
from polyfold.estimators._autoencoder_network import ModularAutoencoderNetwork
from polyfold.estimators._bagging_autoencoder import BaggingAutoencoder
from polyfold.estimators._baselines import (
    BootstrapKernelPCA,
    MonolithicKernelPCA,
    PartitionKernelPCA,
    RandomKernelPCA,
)
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork
from polyfold.estimators._bootstrap_clustering import BootstrapClustering
from polyfold.estimators._embedding import KernelEmbedding
from polyfold.estimators._modular_kernel_pca import ModularKernelPCA
from polyfold.estimators._modular_regressor import ModularRegressor
from polyfold.estimators._nonredundant import NonRedundantEmbedding
from polyfold.estimators._selected import SelectedEmbedding, SequentialRegressionEmbedding

__all__ = [
    "BaggingAutoencoder",
    "BootstrapClustering",
    "BootstrapKernelPCA",
    "KernelEmbedding",
    "ModularAutoencoder",
    "ModularAutoencoderNetwork",
    "ModularKernelPCA",
    "ModularRegressor",
    "MonolithicKernelPCA",
    "MultilayerBootstrapNetwork",
    "NonRedundantEmbedding",
    "PartitionKernelPCA",
    "RandomKernelPCA",
    "SelectedEmbedding",
    "SequentialRegressionEmbedding",
]
