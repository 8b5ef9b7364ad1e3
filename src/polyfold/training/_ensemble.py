"""M modules that compute at once: stacked weights under ``vmap``, or one after another if that fails."""

import copy
import logging
from collections.abc import Callable

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

logger = logging.getLogger("polyfold")


class StackedEnsemble(nn.Module):
    """Modules of one architecture with stacked parameters; every layer is one batched product."""

    def __init__(self, modules: list[nn.Module]):
        super().__init__()
        parameters, buffers = stack_module_state(modules)
        # ParameterDict refuses dots in names, which nested modules have.
        self._names = {name.replace(".", "/"): name for name in (*parameters, *buffers)}
        self.weights = nn.ParameterDict(
            {name.replace(".", "/"): nn.Parameter(value.detach().clone()) for name, value in parameters.items()}
        )
        for name, value in buffers.items():
            self.register_buffer(name.replace(".", "/"), value.detach().clone())
        # In a tuple, so that its parameters do not count as ours.
        self._template = (copy.deepcopy(modules[0]).to("meta"),)

    def forward(self, x: torch.Tensor, shared: bool = True) -> torch.Tensor:
        """Map (n, p) rows shared by all modules, or (M, n, p) rows of their own, to (M, n, q)."""
        state = {self._names[name]: value for name, value in (*self.weights.items(), *self.named_buffers())}
        template = self._template[0]

        def one(own: dict[str, torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
            return functional_call(template, own, (rows,))

        return vmap(one, in_dims=(0, None if shared else 0), randomness="different")(state, x)

    def train(self, mode: bool = True) -> "StackedEnsemble":
        """Switch the modules between training and evaluation."""
        self._template[0].train(mode)
        return super().train(mode)


class LoopedEnsemble(nn.Module):
    """Modules that run one after another: for one module, and for architectures vmap cannot batch."""

    def __init__(self, modules: list[nn.Module]):
        super().__init__()
        self.parts = nn.ModuleList(modules)

    def forward(self, x: torch.Tensor, shared: bool = True) -> torch.Tensor:
        """Map (n, p) rows shared by all modules, or (M, n, p) rows of their own, to (M, n, q)."""
        return torch.stack([part(x if shared else x[m]) for m, part in enumerate(self.parts)])


class Chain(nn.Module):
    """Encoders followed by decoders, module by module."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (n, p) to the (M, n, p) reconstructions."""
        return self.decoder(self.encoder(x), shared=False)


def build_ensemble(
    architecture: Callable[[int, int], nn.Module], n_modules: int, n_inputs: int, n_outputs: int
) -> StackedEnsemble | LoopedEnsemble:
    """Create the modules, check what they return, and stack them if the architecture allows it."""
    modules = [_checked(architecture(n_inputs, n_outputs)) for _ in range(n_modules)]
    _check_output(modules[0], n_inputs, n_outputs)
    if n_modules > 1:
        try:
            stacked = StackedEnsemble(modules)
            stacked(torch.zeros(2, n_inputs)).sum().backward()
            stacked.zero_grad()
            return stacked
        except (RuntimeError, NotImplementedError, TypeError) as error:
            logger.info("modules run one after another, vmap cannot batch them: %s", error)
    return LoopedEnsemble(modules)


def _checked(module: object) -> nn.Module:
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"architecture must return a torch.nn.Module, got {type(module).__name__}; "
            "pass a function of (n_inputs, n_outputs)."
        )
    return module.float()


def _check_output(module: nn.Module, n_inputs: int, n_outputs: int) -> None:
    rows = 2
    was_training = module.training
    with torch.no_grad():
        try:
            found = tuple(module.eval()(torch.zeros(rows, n_inputs)).shape)
        except RuntimeError as error:
            raise ValueError(
                f"architecture must map inputs of shape ({rows}, {n_inputs}) to outputs of shape "
                f"({rows}, {n_outputs}), got the error: {error}"
            ) from error
    module.train(was_training)
    if found != (rows, n_outputs):
        raise ValueError(
            f"architecture must map inputs of shape ({rows}, {n_inputs}) to outputs of shape "
            f"({rows}, {n_outputs}), got {found}; use the sizes it is called with."
        )
