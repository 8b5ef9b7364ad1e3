import numpy as np
import pytest

from polyfold.bootstrap import Checkpoint, choose_bottom, fit_network

OPTIONS = {"n_clusterings": 12, "feature_fraction": 0.5, "reconstruction": 0.0, "seed": 5}


def bottom_of(X):
    return choose_bottom(X, metric="euclidean", neighbors=3, n_centers=40, reconstruction=0.0, seed=5)


def test_a_checkpoint_is_taken_up_to_the_same_result(tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((120, 6))
    sizes = [40, 20, 8]
    whole = fit_network(X, bottom_of(X), sizes, **OPTIONS)
    folder = Checkpoint(tmp_path, {}, seed=5)
    fit_network(X, bottom_of(X), sizes[:2], checkpoint=folder, **OPTIONS)
    fresh = bottom_of(X)
    monkeypatch.setattr(fresh, "assign", None)  # the first layer must not be computed again
    resumed = fit_network(X, fresh, sizes, checkpoint=Checkpoint(tmp_path, {}, seed=5), **OPTIONS)
    for a, b in zip(whole.codes, resumed.codes, strict=True):
        np.testing.assert_array_equal(a, b)
    assert resumed.disagreement == whole.disagreement
    names = ["layer-00.npz", "layer-01.npz", "layer-02.npz", "state.json"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names


def test_a_folder_of_another_fit_is_refused(tmp_path):
    Checkpoint(tmp_path, {"sizes": [4]}, seed=3)
    with pytest.raises(ValueError, match="which differs in sizes; pass another folder or empty this one"):
        Checkpoint(tmp_path, {"sizes": [5]}, seed=3)
    with pytest.raises(ValueError, match="which differs in seed"):
        Checkpoint(tmp_path, {"sizes": [4]}, seed=4)


def test_a_seed_that_is_not_fixed_is_that_of_the_folder(tmp_path):
    assert Checkpoint(tmp_path, {}, seed=3, fixed=False).seed == 3
    assert Checkpoint(tmp_path, {}, seed=4, fixed=False).seed == 3


def test_a_layer_that_the_state_does_not_know_is_not_read(tmp_path):
    folder = Checkpoint(tmp_path, {}, seed=0)
    (tmp_path / "layer-00.npz").write_bytes(b"half")
    assert folder.load(0) is None
    folder.save(0, codes=np.arange(3))
    np.testing.assert_array_equal(Checkpoint(tmp_path, {}, seed=0).load(0)["codes"], [0, 1, 2])
