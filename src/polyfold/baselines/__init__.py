"""What the papers compare with, behind the same interface."""

from polyfold.estimators import BootstrapKernelPCA, MonolithicKernelPCA, PartitionKernelPCA, RandomKernelPCA

__all__ = ["BootstrapKernelPCA", "MonolithicKernelPCA", "PartitionKernelPCA", "RandomKernelPCA"]
