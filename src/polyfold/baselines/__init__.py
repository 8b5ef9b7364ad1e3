"""What the papers compare with, behind the same interface: the one public path of these estimators."""

from polyfold.estimators._baselines import (
    BaggingAutoencoder,
    BootstrapKernelPCA,
    MonolithicKernelPCA,
    PartitionKernelPCA,
    RandomKernelPCA,
)
from polyfold.estimators._selected import SelectedEmbedding, SequentialRegressionEmbedding

__all__ = [
    "BaggingAutoencoder",
    "BootstrapKernelPCA",
    "MonolithicKernelPCA",
    "PartitionKernelPCA",
    "RandomKernelPCA",
    "SelectedEmbedding",
    "SequentialRegressionEmbedding",
]
