import numpy as np
import pytest

from polyfold.bootstrap import Checkpoint, choose_bottom, fit_network, stored_seed
from polyfold.bootstrap._checkpoint import layer_parts
from polyfold.bootstrap._shared import SharedCodes
from polyfold.neighbors import PrincipalIndex

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


def interrupted_after(calls, bottom, monkeypatch):
    """Let the bottom layer be interrupted after so many clusterings; returns how many it was asked for."""
    asked, assign = [], type(bottom).assign

    def counted(self, *args, **options):
        if len(asked) == calls:
            raise KeyboardInterrupt
        asked.append(1)
        return assign(self, *args, **options)

    monkeypatch.setattr(type(bottom), "assign", counted)
    return asked


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_layer_is_taken_up_where_it_was_left_and_again(tmp_path, monkeypatch, n_jobs):
    X = np.random.default_rng(0).standard_normal((120, 6))
    whole = fit_network(X, bottom_of(X), [40, 8], **OPTIONS)
    monkeypatch.setattr("polyfold.bootstrap._checkpoint.EVERY", 0.0)
    for _ in range(2):
        with monkeypatch.context() as patch:
            asked = interrupted_after(5, bottom_of(X), patch)
            with pytest.raises(KeyboardInterrupt):
                fit_network(
                    X, bottom_of(X), [40, 8], checkpoint=Checkpoint(tmp_path, {}, seed=5), n_jobs=n_jobs, **OPTIONS
                )
        assert len(asked) == 5
        assert not list(tmp_path.glob(".*")), "nothing half-written"
    with monkeypatch.context() as patch:
        asked = interrupted_after(100, bottom_of(X), patch)
        resumed = fit_network(X, bottom_of(X), [40, 8], checkpoint=Checkpoint(tmp_path, {}, seed=5), **OPTIONS)
    # What had been begun in the other thread is done again.
    assert len(asked) <= OPTIONS["n_clusterings"] - 2 * (5 - (n_jobs - 1) * 2)
    for a, b in zip(whole.codes, resumed.codes, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (resumed.disagreement, resumed.recall) == (whole.disagreement, whole.recall)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["layer-00.npz", "layer-01.npz", "state.json"]


def test_a_layer_that_is_filled_by_samples_is_taken_up_as_well(tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((120, 6))
    monkeypatch.setattr("polyfold.bootstrap._network.prefers_shared", lambda *sizes: True)
    monkeypatch.setattr("polyfold.bootstrap._shared.BLOCK", 50)
    whole = fit_network(X, bottom_of(X), [40, 8], **OPTIONS)
    monkeypatch.setattr("polyfold.bootstrap._checkpoint.EVERY", 0.0)
    match, widths = SharedCodes.match, []

    def stopping(self, codes):
        widths.append(codes.shape[1])
        if len(widths) in (2, 4):
            raise KeyboardInterrupt
        return match(self, codes)

    monkeypatch.setattr(SharedCodes, "match", stopping)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            fit_network(X, bottom_of(X), [40, 8], checkpoint=Checkpoint(tmp_path, {}, seed=5), **OPTIONS)
    resumed = fit_network(X, bottom_of(X), [40, 8], checkpoint=Checkpoint(tmp_path, {}, seed=5), **OPTIONS)
    assert widths == [50, 50, 50, 20, 20]
    np.testing.assert_array_equal(resumed.codes[1], whole.codes[1])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["layer-00.npz", "layer-01.npz", "state.json"]


def test_lists_of_neighbours_are_kept_as_well(tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((120, 6))
    monkeypatch.setattr("polyfold.bootstrap._checkpoint.EVERY", 0.0)
    monkeypatch.setattr("polyfold.neighbors._principal.BLOCK_ENTRIES", 120 * 50)
    whole = bottom_of(X).neighbors(X, own=True, n_jobs=1)
    nearest, asked = PrincipalIndex.nearest, []

    def stopping(self, *args, **options):
        asked.append(options["own"])
        if len(asked) == 2:
            raise KeyboardInterrupt
        return nearest(self, *args, **options)

    monkeypatch.setattr(PrincipalIndex, "nearest", stopping)
    with pytest.raises(KeyboardInterrupt):
        bottom_of(X).neighbors(X, own=True, n_jobs=1, checkpoint=Checkpoint(tmp_path, {}, seed=5))
    again = bottom_of(X).neighbors(X, own=True, n_jobs=1, checkpoint=Checkpoint(tmp_path, {}, seed=5))
    np.testing.assert_array_equal(again, whole)
    assert asked == [0, 50, 50, 100]


def test_parts_are_written_now_and_then_only(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("polyfold.bootstrap._checkpoint.time.monotonic", lambda: now[0])
    parts, rows = layer_parts(Checkpoint(tmp_path, {}, seed=0), 3), np.arange(10).reshape(5, 2)
    for done, now[0] in ((1, 5.0), (2, 19.0), (3, 21.0), (4, 30.0)):
        parts.keep(rows, done)
    found = np.zeros_like(rows)
    assert layer_parts(Checkpoint(tmp_path, {}, seed=0), 3).fill(found) == 3
    np.testing.assert_array_equal(found[:3], rows[:3])


def test_a_damaged_part_is_refused_and_a_lost_one_computed_again(tmp_path):
    folder = Checkpoint(tmp_path, {}, seed=0)
    folder.save_part("layer-00", 0, np.arange(3))
    path = tmp_path / "layer-00-part-00000000.npz"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match="which is damaged or of another version; delete it"):
        Checkpoint(tmp_path, {}, seed=0).load_part("layer-00", 0)
    path.unlink()
    assert Checkpoint(tmp_path, {}, seed=0).load_part("layer-00", 0) is None


def test_a_folder_of_another_fit_is_refused(tmp_path):
    Checkpoint(tmp_path, {"sizes": [4]}, seed=3)
    with pytest.raises(ValueError, match="which differs in sizes; pass another folder or empty this one"):
        Checkpoint(tmp_path, {"sizes": [5]}, seed=3)
    with pytest.raises(ValueError, match="which differs in seed"):
        Checkpoint(tmp_path, {"sizes": [4]}, seed=4)


def test_a_folder_knows_the_seed_of_its_fit(tmp_path):
    assert stored_seed(tmp_path) is None
    Checkpoint(tmp_path, {}, seed=3)
    assert stored_seed(tmp_path) == 3


def test_a_layer_that_the_state_does_not_know_is_not_read(tmp_path):
    folder = Checkpoint(tmp_path, {}, seed=0)
    (tmp_path / "layer-00.npz").write_bytes(b"half")
    assert folder.load(0) is None
    folder.save(0, codes=np.arange(3))
    np.testing.assert_array_equal(Checkpoint(tmp_path, {}, seed=0).load(0)["codes"], [0, 1, 2])
