import numpy as np
import pytest

from polyfold._threads import using_threads
from polyfold.bootstrap import CodeSearch, LayerCheckpoint, fit_encoder, make_first_layer, stored_seed
from polyfold.bootstrap._candidate_search import CandidateSearch
from polyfold.bootstrap._dense_search import DenseSearch

SEEDS = np.random.SeedSequence(5)
X = np.random.default_rng(0).standard_normal((120, 6))


def fit(sizes, folder=None, neighbors="exact", n_jobs=1):
    checkpoint = None if folder is None else LayerCheckpoint(folder, {}, seed=5)
    first = make_first_layer(X, metric="euclidean", neighbors=neighbors, n_centers=40, seeds=SEEDS)
    options = {"n_clusterings": 12, "feature_fraction": 0.5, "seeds": SEEDS, "checkpoint": checkpoint}
    with using_threads(n_jobs):
        return fit_encoder(first.prepare(X), first, sizes, **options)


def assert_same(resumed, whole, folder):
    for a, b in zip(whole.codes, resumed.codes, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (resumed.assignment_error, resumed.neighbor_recall) == (whole.assignment_error, whole.neighbor_recall)
    names = [f"layer-{level:02d}.npz" for level in range(len(whole.sizes))]
    assert sorted(p.name for p in folder.iterdir()) == [*names, "state.json"]
    assert not list(folder.glob(".*")), "nothing half-written"


def test_finished_layers_are_read_and_the_result_is_the_same(tmp_path, monkeypatch):
    whole = fit([40, 20, 8], neighbors=3)
    fit([40, 20], tmp_path, neighbors=3)
    monkeypatch.setattr(CandidateSearch, "assign", None)  # the first layer must not be computed again
    assert_same(fit([40, 20, 8], tmp_path, neighbors=3), whole, tmp_path)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_is_continued_after_an_interrupt(tmp_path, monkeypatch, n_jobs):
    whole = fit([40, 8])
    with monkeypatch.context() as patch:
        patch.setattr(CodeSearch, "assign", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fit([40, 8], tmp_path, n_jobs=n_jobs)
    monkeypatch.setattr(DenseSearch, "assign", None)  # the first layer must not be computed again
    assert_same(fit([40, 8], tmp_path, n_jobs=n_jobs), whole, tmp_path)


def interrupt(*args):
    raise KeyboardInterrupt


def test_a_damaged_layer_is_refused_and_a_lost_one_computed_again(tmp_path):
    LayerCheckpoint(tmp_path, {}, seed=0).save(0, codes=np.arange(3))
    path = tmp_path / "layer-00.npz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="which is damaged or of another version; delete it"):
        LayerCheckpoint(tmp_path, {}, seed=0).load(0)
    path.unlink()
    assert LayerCheckpoint(tmp_path, {}, seed=0).load(0) is None


def test_a_folder_of_another_fit_is_refused(tmp_path):
    LayerCheckpoint(tmp_path, {"sizes": [4]}, seed=3)
    with pytest.raises(ValueError, match="which differs in sizes; pass another folder or empty this one"):
        LayerCheckpoint(tmp_path, {"sizes": [5]}, seed=3)
    with pytest.raises(ValueError, match="which differs in seed"):
        LayerCheckpoint(tmp_path, {"sizes": [4]}, seed=4)


def test_a_folder_knows_the_seed_of_its_fit(tmp_path):
    assert stored_seed(tmp_path) is None
    LayerCheckpoint(tmp_path, {}, seed=3)
    assert stored_seed(tmp_path) == 3


def test_a_layer_that_the_state_does_not_know_is_not_read(tmp_path):
    folder = LayerCheckpoint(tmp_path, {}, seed=0)
    (tmp_path / "layer-00.npz").write_bytes(b"half")
    assert folder.load(0) is None
    folder.save(0, codes=np.arange(3))
    np.testing.assert_array_equal(LayerCheckpoint(tmp_path, {}, seed=0).load(0)["codes"], [0, 1, 2])


def test_codes_beyond_the_network_are_refused(tmp_path):
    fit([40, 8], tmp_path)
    LayerCheckpoint(tmp_path, {}, seed=5).save(0, codes=np.full((12, 120), 255, dtype=np.uint8))
    with pytest.raises(ValueError, match="codes must be those of 12 clusterings with 40 centres"):
        fit([40, 8, 4], tmp_path)
