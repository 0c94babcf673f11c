"""The effect of a change of the initial state after T samples, before and after training."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from liquidtime.layers import Recurrent
from liquidtime.paper.fitting import Outcome, Settings, Trial
from liquidtime.paper.models.network import Discrete, SequenceNetwork
from liquidtime.paper.models.network_model import NetworkModel

LENGTHS = (1, 10, 40, 160)
INTERVALS = (0.1, 1.0, 10.0)
ROWS = 8


def state_jacobian(network: SequenceNetwork, length: int, interval: float) -> float:
    """Return ‖∂s_T/∂s_0‖ / √|s|, the Frobenius norm, where s is the whole state of one layer; 1 if nothing is lost.

    It is the root mean square over a few rows of noise, from the zero state. The state of a mixed memory consists of
    hidden state and memory.

    Args:
        network: network whose recurrent part is one layer of ours or of torch.
        length: T, number of samples.
        interval: dt of every sample.

    """
    generator = torch.Generator().manual_seed(length)
    x = 0.3 * torch.randn(ROWS, length, 1, generator=generator)
    dt = torch.full((ROWS, length), interval)
    state, last = _run(network, x, dt)
    total = 0.0
    width = sum(part.shape[-1] for part in state)
    columns = [column for part in last for column in part.unbind(-1)]
    for column in columns:
        slopes = torch.autograd.grad(column.sum(), state, retain_graph=True, allow_unused=True)
        total += sum(float(slope.double().square().sum()) for slope in slopes if slope is not None)
    return float((total / (ROWS * width)) ** 0.5)


def _run(network: SequenceNetwork, x: Tensor, dt: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Return the initial state, as leaves, and the state after the last sample, each as (ROWS, ·) parts."""
    recurrent = network.recurrent
    network.eval()
    if isinstance(recurrent, Discrete):
        H = recurrent.output_size
        parts = [torch.zeros(ROWS, H, requires_grad=True) for _ in range(2)]
        inputs = torch.cat([x, dt.unsqueeze(-1)], dim=-1) if recurrent.has_time else x
        _, (h, m) = recurrent.network(inputs, tuple(part.unsqueeze(0) for part in parts))
        return parts, [h[0], m[0]]
    if not isinstance(recurrent, Recurrent):
        raise TypeError(f"the recurrent part must be a layer with a state; got {type(recurrent).__name__}")
    cell: Any = recurrent.cells[0]
    parts = [part.requires_grad_() for part in cell.initial_state(x)]
    _, last = cell.scan(x, tuple(parts), dt)
    return parts, list(last)


@dataclass(frozen=True)
class GradientModel:
    """A network that learns to recall a bit, with norms of gradients before and after training.

    Attributes:
        base: the network.

    """

    base: NetworkModel

    @property
    def title(self) -> str:
        """Title in our tables."""
        return self.base.title

    @property
    def paper(self) -> tuple[str, ...]:
        """Empty, as the paper has no such table."""
        return ()

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Measure, train, and measure again."""
        if settings is None:
            raise ValueError(f"`settings` must be given for {self.title}; it has none of its own.")
        before = _table(self.base.network(trial, settings))
        network, outcome = self.base.train(trial, settings)
        figures = outcome.figures | {"jacobian_before": before, "jacobian_after": _table(network)}
        return dataclasses.replace(outcome, figures=figures)


def _table(network: SequenceNetwork) -> dict[str, dict[str, float]]:
    """Return the norms by interval and length, for JSON."""
    return {
        f"{interval:g}": {str(length): state_jacobian(network, length, interval) for length in LENGTHS}
        for interval in INTERVALS
    }
