import numpy as np
import pytest

from polyfold.bootstrap import CodeSearch, LayerCheckpoint, fit_encoder, make_first_layer, stored_seed
from polyfold.bootstrap._candidate_search import CandidateSearch
from polyfold.bootstrap._dense_search import DenseSearch, PrincipalBound
from polyfold.bootstrap._layer_checkpoint import layer_parts

SEEDS = np.random.SeedSequence(5)
X = np.random.default_rng(0).standard_normal((120, 6))


def fit(sizes, folder=None, neighbors="exact", n_jobs=1):
    checkpoint = None if folder is None else LayerCheckpoint(folder, {}, seed=5)
    options = {"n_centers": 40, "reconstruction": 0.0, "seeds": SEEDS}
    first = make_first_layer(X, metric="euclidean", neighbors=neighbors, **options)
    rows = first.prepare(X, n_jobs=n_jobs, checkpoint=checkpoint)
    options = {"n_clusterings": 12, "feature_fraction": 0.5, "seeds": SEEDS, "n_jobs": n_jobs, "checkpoint": checkpoint}
    return fit_encoder(rows, first, sizes, **options)


def stop_after(calls, search, monkeypatch):
    """Interrupt a search at a call; return the list of its calls."""
    asked, assign = [], search.assign

    def counted(self, *args):
        if len(asked) == calls:
            raise KeyboardInterrupt
        asked.append(1)
        return assign(self, *args)

    monkeypatch.setattr(search, "assign", counted)
    return asked


def assert_same(resumed, whole, folder):
    for a, b in zip(whole.codes, resumed.codes, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (resumed.assignment_error, resumed.neighbor_recall) == (whole.assignment_error, whole.neighbor_recall)
    names = [f"layer-{level:02d}.npz" for level in range(len(whole.sizes))]
    assert sorted(p.name for p in folder.iterdir() if "neighbors" not in p.name) == [*names, "state.json"]
    assert not list(folder.glob(".*")), "nothing half-written"


def test_finished_layers_are_read_and_the_result_is_the_same(tmp_path, monkeypatch):
    whole = fit([40, 20, 8], neighbors=3)
    fit([40, 20], tmp_path, neighbors=3)
    monkeypatch.setattr(CandidateSearch, "assign", None)  # the first layer must not be computed again
    assert_same(fit([40, 20, 8], tmp_path, neighbors=3), whole, tmp_path)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_layer_filled_by_clusterings_is_continued(tmp_path, monkeypatch, n_jobs):
    whole = fit([40, 8])
    monkeypatch.setattr("polyfold.bootstrap._layer_checkpoint.EVERY", 0.0)
    for _ in range(2):
        with monkeypatch.context() as patch:
            stop_after(5, DenseSearch, patch)
            with pytest.raises(KeyboardInterrupt):
                fit([40, 8], tmp_path, n_jobs=n_jobs)
    with monkeypatch.context() as patch:
        asked = stop_after(100, DenseSearch, patch)
        resumed = fit([40, 8], tmp_path)
    # What the other thread had begun is done again.
    assert len(asked) <= 12 - 2 * (5 - (n_jobs - 1) * 2)
    assert_same(resumed, whole, tmp_path)


def test_a_layer_filled_by_rows_is_continued(tmp_path, monkeypatch):
    monkeypatch.setattr("polyfold.bootstrap._first_layer.BLOCK", 50)
    whole = fit([40, 8])
    monkeypatch.setattr("polyfold.bootstrap._layer_checkpoint.EVERY", 0.0)
    with monkeypatch.context() as patch:
        stop_after(2, CodeSearch, patch)
        with pytest.raises(KeyboardInterrupt):
            fit([40, 8], tmp_path)
    with monkeypatch.context() as patch:
        asked = stop_after(100, CodeSearch, patch)
        resumed = fit([40, 8], tmp_path)
    assert len(asked) == 1
    assert_same(resumed, whole, tmp_path)


def test_neighbour_lists_are_continued(tmp_path, monkeypatch):
    whole = fit([40, 8], neighbors=3)
    monkeypatch.setattr("polyfold.bootstrap._layer_checkpoint.EVERY", 0.0)
    monkeypatch.setattr("polyfold.bootstrap._candidate_search.BLOCK", 50)
    coordinates, asked = PrincipalBound.coordinates, []

    def stopping(self, rows):
        asked.append(len(rows))
        if len(asked) == 5:
            raise KeyboardInterrupt
        return coordinates(self, rows)

    monkeypatch.setattr(PrincipalBound, "coordinates", stopping)
    with pytest.raises(KeyboardInterrupt):
        fit([40, 8], tmp_path, neighbors=3)
    assert_same(fit([40, 8], tmp_path, neighbors=3), whole, tmp_path)
    assert asked[:5] == [50, 50, 20, 50, 50]  # three blocks of the index, then the first and the second of the rows
    assert asked[5:10] == [50, 50, 20, 50, 20]


def test_parts_are_written_now_and_then_only(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("polyfold.bootstrap._layer_checkpoint.time.monotonic", lambda: now[0])
    parts, rows = layer_parts(LayerCheckpoint(tmp_path, {}, seed=0), 3), np.arange(10).reshape(5, 2)
    for done, now[0] in ((1, 5.0), (2, 19.0), (3, 21.0), (4, 30.0)):
        parts.keep(rows, done)
    found = np.zeros_like(rows)
    assert layer_parts(LayerCheckpoint(tmp_path, {}, seed=0), 3).fill(found) == 3
    np.testing.assert_array_equal(found[:3], rows[:3])


def test_a_damaged_part_is_refused_and_a_lost_one_computed_again(tmp_path):
    folder = LayerCheckpoint(tmp_path, {}, seed=0)
    folder.save_part("layer-00", 0, np.arange(3))
    path = tmp_path / "layer-00-part-00000000.npz"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match="which is damaged or of another version; delete it"):
        LayerCheckpoint(tmp_path, {}, seed=0).load_part("layer-00", 0)
    path.unlink()
    assert LayerCheckpoint(tmp_path, {}, seed=0).load_part("layer-00", 0) is None


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
