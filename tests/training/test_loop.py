"""Joint training: its two extremes, early stopping, and runs that resume exactly."""

import copy
from functools import partial

import numpy as np
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from polyfold.estimators import ModularRegressor  # noqa: E402
from polyfold.training import MLP, Task, Training, modular_objective, train  # noqa: E402
from polyfold.training._ensemble import LoopedEnsemble, StackedEnsemble  # noqa: E402

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


def task(x, y, n_modules, diversity):
    return Task(x, y, partial(modular_objective, diversity=diversity), weight=n_modules)


def trained(network, rows, n_modules, diversity, learning_rate):
    plan = Training(
        max_iter=5, batch_size=16, learning_rate=learning_rate, optimizer="sgd", validation_fraction=0.0
    ).checked()
    torch.manual_seed(1)
    train(network, task(*rows, n_modules, diversity), plan)
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
    train(stacked, task(x, y, M, lam), plan)
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


def test_a_single_network_trains_by_any_loss(rows):
    x, y = rows
    labels = (y > 0).float()
    network = MLP((16,), dropout=0.1)(4, 1)
    plan = Training(max_iter=60, batch_size=16, learning_rate=0.02, validation_fraction=0.0).checked()
    losses = train(network, Task(x, labels, nn.BCEWithLogitsLoss()), plan).losses
    assert losses[-1] < 0.5 * losses[0]
    assert not network.training


def test_rows_may_come_batch_by_batch(rows, parts):
    class Batches:
        def __getitem__(self, batch):
            return rows[0][batch]

    plan = Training(max_iter=3, batch_size=16, validation_fraction=0.0).checked()
    found = []
    for inputs in (rows[0], Batches()):
        network = copy.deepcopy(parts[0])
        torch.manual_seed(0)
        found.append(train(network, Task(inputs, rows[1], nn.MSELoss()), plan).losses)
    assert found[0] == found[1]


def test_dropout_is_mirrored_and_refused_beyond_its_range():
    assert MLP((8, 4), dropout=0.3).reversed().get_params() == MLP((4, 8), dropout=0.3).get_params()
    with pytest.raises(ValueError, match="dropout must be a number >= 0 and <= 0.99, got 1"):
        MLP(dropout=1.0)(3, 2)
