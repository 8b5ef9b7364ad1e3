"""Joint training: its two extremes, early stopping, and runs that resume exactly."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from polyfold.networks import MLP, ModularRegressor, Training, _training  # noqa: E402
from polyfold.networks._ensemble import LoopedEnsemble, StackedEnsemble  # noqa: E402
from polyfold.networks._training import Problem, train  # noqa: E402

M = 3


@pytest.fixture
def parts():
    torch.manual_seed(0)
    return [MLP(hidden=(6,), activation="tanh")(4, 1) for _ in range(M)]


@pytest.fixture
def rows():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 4, generator=generator)
    return x, x[:, :1] * x[:, 1:2] + 0.1 * torch.randn(40, 1, generator=generator)


def trained(network, rows, n_modules, diversity, learning_rate):
    plan = Training(
        max_iter=5, batch_size=16, learning_rate=learning_rate, optimizer="sgd", validation_fraction=0.0
    ).checked()
    torch.manual_seed(1)
    train(network, Problem(*rows, None, n_modules, diversity), plan, checkpoint=None, identity="")
    return network(rows[0]).detach()


def test_without_diversity_modules_train_as_if_alone(parts, rows):
    joint = trained(StackedEnsemble(copy.deepcopy(parts)), rows, M, 0.0, 0.05)
    alone = [trained(LoopedEnsemble([copy.deepcopy(part)]), rows, 1, 0.0, 0.05)[0] for part in parts]
    torch.testing.assert_close(joint, torch.stack(alone))


class Averaged(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        return torch.stack([part(x) for part in self.parts]).mean(dim=0)


def test_full_diversity_trains_the_averaged_network(parts, rows):
    joint = trained(StackedEnsemble(copy.deepcopy(parts)), rows, M, 1.0, 0.05)
    one = trained(LoopedEnsemble([Averaged(copy.deepcopy(parts))]), rows, 1, 0.0, M * 0.05)
    torch.testing.assert_close(joint.mean(dim=0), one[0])


def test_one_step_is_the_step_of_negative_correlation_learning(parts, rows):
    """Each network follows (F_i - y) - λ(F_i - mean) through its own parameters [Liu1999, eq. 4]."""
    x, y = rows
    lam, alpha = 0.7, 0.05
    literal = copy.deepcopy(parts)
    outputs = [part(x) for part in literal]
    mean = torch.stack(outputs).mean(dim=0).detach()
    for part, output in zip(literal, outputs, strict=True):
        signal = (output - y) - lam * (output - mean)
        gradients = torch.autograd.grad(output, list(part.parameters()), grad_outputs=signal.detach() / len(x))
        with torch.no_grad():
            for parameter, gradient in zip(part.parameters(), gradients, strict=True):
                parameter -= alpha * gradient
    plan = Training(max_iter=1, batch_size=40, learning_rate=alpha / 2, optimizer="sgd").checked()
    stacked = StackedEnsemble(parts)
    train(stacked, Problem(x, y, None, M, lam), plan, checkpoint=None, identity="")
    torch.testing.assert_close(stacked(x), LoopedEnsemble(literal)(x))


def test_training_stops_early_and_keeps_the_best_weights(regression):
    X, y = regression
    noise = np.random.default_rng(1).normal(size=len(y))
    model = ModularRegressor(
        2, training=Training(max_iter=300, learning_rate=0.02, patience=5, validation_fraction=0.3), random_state=0
    ).fit(X, noise)
    assert model.n_iter_ < 300
    assert len(model.validation_curve_) == len(model.loss_curve_) == model.n_iter_
    best = int(np.argmin(model.validation_curve_))
    assert model.n_iter_ - 1 - best >= 4
    shorter = Training(max_iter=best + 1, learning_rate=0.02, patience=300, validation_fraction=0.3)
    again = ModularRegressor(2, training=shorter, random_state=0).fit(X, noise)
    np.testing.assert_allclose(model.predict(X), again.predict(X), rtol=1e-5)


def test_a_loss_that_explodes_names_the_learning_rate(regression):
    training = Training(learning_rate=1e12, optimizer="sgd", validation_fraction=0.0)
    with pytest.raises(ValueError, match="lower the training's learning_rate"):
        ModularRegressor(2, training=training, random_state=0).fit(*regression)


def test_optimizer_can_be_a_callable(regression):
    calls = []

    def momentum(parameters, learning_rate):
        calls.append(learning_rate)
        return torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9)

    ModularRegressor(2, training=Training(max_iter=2, optimizer=momentum), random_state=0).fit(*regression)
    assert calls == [1e-3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"learning_rate": 0.0}, "learning_rate must be a number > 0"),
        ({"validation_fraction": 0.95}, "validation_fraction must be a number >= 0 and <= 0.9"),
        ({"optimizer": "newton"}, "optimizer must be one of 'adam', 'sgd'"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Training(**options).checked()


def with_dropout(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, 8), nn.Dropout(0.3), nn.Tanh(), nn.Linear(8, n_outputs))


def regressor(checkpoint, max_iter=8):
    training = Training(max_iter=max_iter, batch_size=32, learning_rate=0.01, patience=50)
    return ModularRegressor(2, architecture=with_dropout, training=training, checkpoint=checkpoint, random_state=0)


def test_interrupted_run_resumes_exactly(regression, tmp_path, monkeypatch):
    whole = regressor(None).fit(*regression)
    path = tmp_path / "run.pt"

    def interrupted(items, *_, **__):
        for item in items:
            if item == 3:
                raise KeyboardInterrupt
            yield item

    with monkeypatch.context() as patched:
        patched.setattr(_training, "track", interrupted)
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
