"""Runs that are interrupted, resumed, damaged."""

import io
import pickle

import numpy as np
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from polyfold._files import digest  # noqa: E402
from polyfold.estimators import ModularRegressor  # noqa: E402
from polyfold.training import MLP, Training  # noqa: E402
from polyfold.training._checkpoint import HEADER  # noqa: E402


def with_dropout(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, 8), nn.Dropout(0.3), nn.Tanh(), nn.Linear(8, n_outputs))


def regressor(checkpoint, max_iter=8, **options):
    training = Training(max_iter=max_iter, batch_size=32, learning_rate=0.01, patience=50)
    options = {"architecture": with_dropout, "random_state": 0, **options}
    return ModularRegressor(2, training=training, checkpoint=checkpoint, **options)


def test_interrupted_run_resumes_exactly(regression, tmp_path, monkeypatch):
    whole = regressor(None).fit(*regression)
    path = tmp_path / "run.pt"

    def interrupted(items, *_, **__):
        for item in items:
            if item == 3:
                raise KeyboardInterrupt
            yield item

    with monkeypatch.context() as patched:
        patched.setattr("polyfold.training._loop.track", interrupted)
        with pytest.raises(KeyboardInterrupt):
            regressor(path).fit(*regression)
    resumed = regressor(path).fit(*regression)
    assert resumed.loss_curve_ == whole.loss_curve_
    np.testing.assert_array_equal(resumed.predict(regression[0]), whole.predict(regression[0]))


def test_finished_run_is_prolonged_by_more_epochs(regression, tmp_path):
    path = tmp_path / "run.pt"
    regressor(path, max_iter=4).fit(*regression)
    longer = regressor(path, max_iter=8).fit(*regression)
    assert longer.loss_curve_ == regressor(None).fit(*regression).loss_curve_


def test_interrupted_save_leaves_the_last_checkpoint(regression, tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    regressor(path, max_iter=2).fit(*regression)
    before = path.read_bytes()

    def interrupt(_, file):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("torch.save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        regressor(path, max_iter=3).fit(*regression)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.pt"]


def test_checkpoint_of_other_data_is_refused(regression, tmp_path):
    X, y = regression
    path = tmp_path / "run.pt"
    regressor(path, max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint must come from the same data and parameters"):
        regressor(path, max_iter=2).fit(X, y + 1 + X[:, 0])


def test_without_a_seed_the_file_remembers_its_own(regression, tmp_path):
    path = tmp_path / "run.pt"
    first = regressor(path, max_iter=4, random_state=None).fit(*regression)
    again = regressor(path, max_iter=8, random_state=None).fit(*regression)
    assert again.loss_curve_[:4] == first.loss_curve_
    assert again.n_iter_ == 8
    np.testing.assert_array_equal(
        again.predict(regression[0]),
        regressor(path, max_iter=8, random_state=None).fit(*regression).predict(regression[0]),
    )


def test_another_seed_is_refused(regression, tmp_path):
    path = tmp_path / "run.pt"
    regressor(path, max_iter=2).fit(*regression)
    with pytest.raises(ValueError, match=r"same data and parameters, got .*run\.pt.*; delete it or name another file"):
        regressor(path, max_iter=2, random_state=1).fit(*regression)


def test_numbers_of_numpy_and_of_python_are_the_same_run(regression, tmp_path):
    path = tmp_path / "run.pt"
    regressor(path, max_iter=2, diversity=0.25).fit(*regression)
    model = regressor(path, max_iter=np.int64(3), diversity=np.float64(0.25), random_state=np.int64(0))
    assert model.set_params(n_modules=np.int64(2)).fit(*regression).n_iter_ == 3


def test_another_network_under_the_same_name_is_refused(regression, tmp_path):
    path = tmp_path / "run.pt"
    for width in (4, 5):
        model = regressor(path, max_iter=2, architecture=lambda i, o, width=width: MLP((width,))(i, o))
        if width == 4:
            model.fit(*regression)
    with pytest.raises(ValueError, match="must come from the same data and parameters"):
        model.fit(*regression)


@pytest.fixture
def finished(regression, tmp_path):
    path = tmp_path / "run.pt"
    return path, regressor(path, max_iter=2).fit(*regression).loss_curve_


def test_every_flipped_byte_is_seen(regression, finished):
    path, _ = finished
    content = path.read_bytes()
    places = [*range(60), *np.random.RandomState(0).choice(len(content), 200, replace=False), len(content) - 1]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"got '.*run\.pt', which is damaged .*; delete it or name another file"):
            regressor(path, max_iter=2).fit(*regression)


class Harmful:
    def __reduce__(self):
        return pytest.fail, ("the file was believed",)


def saved(state):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def sealed(content):
    return HEADER + digest(content).encode() + b"\n" + content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"half",
        HEADER,
        pickle.dumps(Harmful()),
        sealed(b""),
        sealed(b"half"),
        sealed(pickle.dumps(Harmful())),
        sealed(saved(Harmful())),
        saved({"identity": "", "seed": 0}),
    ],
    ids=[
        "empty",
        "lines",
        "text",
        "header",
        "pickle",
        "nothing sealed",
        "text sealed",
        "pickle sealed",
        "archive sealed",
        "archive",
    ],
)
def test_foreign_files_are_refused_and_never_believed(regression, finished, content):
    path, _ = finished
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"got '.*run\.pt', which is damaged") as caught:
        regressor(path, max_iter=2).fit(*regression)
    assert "weights_only" not in str(caught.value)


@pytest.mark.parametrize("lost", [1, 100])
def test_a_truncated_file_is_refused(regression, finished, lost):
    path, _ = finished
    path.write_bytes(path.read_bytes()[:-lost])
    with pytest.raises(ValueError, match=r"got '.*run\.pt', which is damaged"):
        regressor(path, max_iter=2).fit(*regression)


def test_a_lost_file_means_a_new_run(regression, finished):
    path, expected = finished
    path.unlink()
    assert regressor(path, max_iter=2).fit(*regression).loss_curve_ == expected
