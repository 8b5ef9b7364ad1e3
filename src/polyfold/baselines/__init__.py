"""What the papers compare with, behind the same interface."""

from polyfold.estimators import (
    BaggingAutoencoder,
    BootstrapKernelPCA,
    MonolithicKernelPCA,
    PartitionKernelPCA,
    RandomKernelPCA,
    SelectedEmbedding,
    SequentialRegressionEmbedding,
)

__all__ = [
    "BaggingAutoencoder",
    "BootstrapKernelPCA",
    "MonolithicKernelPCA",
    "PartitionKernelPCA",
    "RandomKernelPCA",
    "SelectedEmbedding",
    "SequentialRegressionEmbedding",
]
