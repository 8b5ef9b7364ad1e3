"""Modules that compute at once."""

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from polyfold.training import MLP  # noqa: E402
from polyfold.training._ensemble import (  # noqa: E402
    Chain,
    LoopedEnsemble,
    StackedEnsemble,
    build_ensemble,
)


def modules(n=3):
    torch.manual_seed(0)
    return [MLP(hidden=(5,))(4, 2) for _ in range(n)]


def test_stacked_modules_give_what_each_gives_alone():
    parts, x = modules(), torch.randn(6, 4)
    stacked, looped = StackedEnsemble(parts), LoopedEnsemble(parts)
    torch.testing.assert_close(stacked(x), looped(x))
    own = torch.randn(3, 6, 4)
    torch.testing.assert_close(stacked(own, shared=False), looped(own, shared=False))


def test_modules_start_from_different_weights():
    outputs = build_ensemble(MLP(), 3, 4, 2)(torch.ones(1, 4))
    assert not torch.allclose(outputs[0], outputs[1])


def test_default_architecture_is_stacked():
    assert isinstance(build_ensemble(MLP(), 3, 4, 2), StackedEnsemble)


def test_one_module_needs_no_stack():
    assert isinstance(build_ensemble(MLP(), 1, 4, 2), LoopedEnsemble)


class Branching(nn.Module):
    """Control flow that depends on the data, which vmap cannot follow."""

    def __init__(self, n_inputs, n_outputs):
        super().__init__()
        self.layer = nn.Linear(n_inputs, n_outputs)

    def forward(self, x):
        y = self.layer(x)
        return y if y.sum() > 0 else 2 * y


def test_architecture_that_cannot_be_batched_still_trains():
    ensemble = build_ensemble(Branching, 3, 4, 2)
    assert isinstance(ensemble, LoopedEnsemble)
    outputs = ensemble(torch.randn(8, 4))
    assert outputs.shape == (3, 8, 2)
    outputs.sum().backward()
    assert all(parameter.grad is not None for parameter in ensemble.parameters())


def test_batch_norm_of_stacked_modules_follows_the_data():
    def with_batch_norm(n_inputs, n_outputs):
        return nn.Sequential(nn.BatchNorm1d(n_inputs), nn.Linear(n_inputs, n_outputs))

    ensemble = build_ensemble(with_batch_norm, 3, 4, 2).train()
    for _ in range(60):
        ensemble(torch.randn(64, 4) + 5)
    means = [buffer for name, buffer in ensemble.named_buffers() if "mean" in name]
    torch.testing.assert_close(means[0], torch.full_like(means[0], 5.0), atol=0.3, rtol=0)


def test_dropout_differs_between_modules_and_stops_in_evaluation():
    def with_dropout(n_inputs, n_outputs):
        layer = nn.Linear(n_inputs, n_outputs)
        nn.init.ones_(layer.weight)
        nn.init.zeros_(layer.bias)
        return nn.Sequential(nn.Dropout(0.5), layer)

    ensemble, x = build_ensemble(with_dropout, 2, 50, 1), torch.ones(4, 50)
    assert isinstance(ensemble, StackedEnsemble)
    noisy = ensemble.train()(x)
    assert not torch.allclose(noisy[0], noisy[1])
    clean = ensemble.eval()(x)
    torch.testing.assert_close(clean[0], clean[1])


def test_chain_decodes_each_code_with_its_own_module():
    encoder, decoder = StackedEnsemble(modules()), StackedEnsemble([MLP()(2, 4) for _ in range(3)])
    x = torch.randn(5, 4)
    chained = Chain(encoder, decoder)(x)
    torch.testing.assert_close(chained, decoder(encoder(x), shared=False))
    assert chained.shape == (3, 5, 4)


def test_wrong_output_size_names_both_shapes():
    with pytest.raises(ValueError, match=r"outputs of shape \(2, 3\), got \(2, 7\)"):
        build_ensemble(lambda n_inputs, n_outputs: nn.Linear(n_inputs, 7), 2, 4, 3)


def test_wrong_input_size_names_the_shapes():
    with pytest.raises(ValueError, match=r"inputs of shape \(2, 4\) to outputs of shape \(2, 3\), got the error"):
        build_ensemble(lambda n_inputs, n_outputs: nn.Linear(9, n_outputs), 2, 4, 3)


def test_architecture_must_build_modules():
    with pytest.raises(TypeError, match=r"must return a torch.nn.Module, got int"):
        build_ensemble(lambda n_inputs, n_outputs: 3, 2, 4, 3)


def test_mlp_names_a_wrong_activation():
    with pytest.raises(ValueError, match="activation must be one of 'relu'"):
        MLP(activation="step")(3, 2)
