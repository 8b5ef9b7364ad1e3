"""Write one small model of every kind with the version at hand: ``python -m tests.saving.make_files``.

Run it once for every minor version, before its release, and commit the folder: later versions must load all of them.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polyfold as pf
from polyfold import baselines


def models():
    """Fitted models by name, and the rows they were fitted to."""
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.standard_normal((20, 4)) + centre for centre in 3 * np.eye(4)[:3]])
    network = pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=20, random_state=0)
    modules = pf.ModularKernelPCA(2, 2, random_state=0)
    y = np.repeat([0, 1, 2], 20)
    yield "modular", modules.fit(X), X
    yield "nystroem", pf.ModularKernelPCA(2, 2, feature_map="nystroem", rank=12, random_state=0).fit(X), X
    yield "autoencoder", pf.ModularAutoencoder(2, 2, random_state=0).fit(X), X
    yield "partition", baselines.PartitionKernelPCA(2, 2, random_state=0).fit(X), X
    yield "eigenmaps", pf.KernelEmbedding(2, kernel="laplacian_eigenmaps", random_state=0).fit(X), X
    yield "nonredundant", pf.NonRedundantEmbedding(2, kernel="isomap", random_state=0).fit(X), X
    yield "network", network.fit(X), X
    yield "clustering", pf.BootstrapClustering(3, network=network, random_state=0).fit(X), X
    yield "classifier", pf.ModularClassifier(modules).fit(X, y), X
    yield "pipeline", make_pipeline(StandardScaler(), pf.KernelEmbedding(2, kernel="poly")).fit(X), X


def main() -> None:
    """Write the models and their answers to files/<major.minor>/."""
    folder = Path(__file__).parent / "files" / ".".join(version("polyfold").split(".")[:2])
    for name, model, X in models():
        pf.save(model, folder / f"{name}.polyfold")
        answers = {"labels": model.predict(X)} if hasattr(model, "predict") else {"Z": model.transform(X)}
        np.savez_compressed(folder / f"{name}.npz", X=X, **answers)


if __name__ == "__main__":
    main()
