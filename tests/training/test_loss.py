"""The loss of modular regression networks: Propositions 1 and 2, Theorems 3 and 4."""

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from polyfold.training._loop import modular_objective  # noqa: E402
from tests.oracles.autoencoder import literal_loss, negative_correlation_update  # noqa: E402


@pytest.fixture
def outputs():
    return torch.randn(5, 7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def target():
    return torch.randn(7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0])
def test_objective_is_the_printed_loss(outputs, target, diversity):
    expected = literal_loss(outputs.numpy(), target.numpy(), diversity)
    assert float(modular_objective(outputs, target, diversity)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("diversity", [0.0, 0.4, 1.0])
def test_gradient_is_the_update_of_negative_correlation_learning(outputs, target, diversity):
    outputs.requires_grad_()
    loss = modular_objective(outputs, target, diversity)
    (gradient,) = torch.autograd.grad(loss, outputs)
    update = negative_correlation_update(outputs.detach().numpy(), target.numpy(), diversity)
    n_modules, n = outputs.shape[:2]
    torch.testing.assert_close(gradient * n * n_modules / 2, torch.from_numpy(update))


def test_loss_is_unbounded_below_beyond_one(target):
    """The sequence in the proof of Theorem 3: two modules drift apart, the others stay at zero."""
    losses = {}
    for q in (10.0, 100.0):
        outputs = torch.zeros(4, *target.shape, dtype=torch.float64)
        outputs[0, :, 0], outputs[1, :, 0] = q**2 + q, -(q**2)
        losses[q] = {lam: float(modular_objective(outputs, target, lam)) for lam in (0.9, 1.0, 1.1)}
    assert losses[100.0][1.1] < 1e3 * losses[10.0][1.1] < 0
    assert all(losses[q][lam] >= 0 for q in losses for lam in (0.9, 1.0))


def test_one_module_alone_is_bounded_up_to_m_over_m_minus_one(outputs, target):
    """Theorem 4: with the others fixed, the bound on λ is M/(M-1), not 1."""
    n_modules = len(outputs)
    bound = n_modules / (n_modules - 1)

    def loss_of_drift(size, lam):
        moved = outputs.clone()
        moved[0] += size
        return float(modular_objective(moved, target, lam))

    assert loss_of_drift(1e6, 0.99 * bound) > loss_of_drift(1e3, 0.99 * bound) > 0
    assert loss_of_drift(1e6, 1.01 * bound) < loss_of_drift(1e3, 1.01 * bound) < 0
