"""The scan of liquid time-constant neurons in plain PyTorch: the definition that the kernel is held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Flows = Callable[[Tensor], tuple[Tensor, Tensor]]  # v (B, H) to the rate and the push there


class Graph(NamedTuple):
    """Which synapses there are, sorted by the neuron they end on.

    Attributes:
        pre: (n,) where each synapse comes from.
        post: (n,) where it ends, not decreasing.
        first: (H + 1,) where the synapses of each neuron start.

    """

    pre: Tensor
    post: Tensor
    first: Tensor


def graph_of(mask: Tensor) -> Graph:
    """Return the synapses of a mask (n_pre, n_post), which is 0 where there is none."""
    post, pre = mask.t().nonzero(as_tuple=True)
    counts = torch.bincount(post, minlength=mask.shape[1])
    return Graph(pre.contiguous(), post.contiguous(), torch.cat([counts.new_zeros(1), counts.cumsum(0)]))


def _collect(graph: Graph, H: int, v: Tensor, synapses: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    w, gamma, mu, E = synapses
    flow = w * torch.sigmoid(gamma * (v[:, graph.pre] - mu))  # (B, n)
    nothing = v.new_zeros(v.shape[0], H)
    return nothing.index_add(1, graph.post, flow), nothing.index_add(1, graph.post, flow * E)


def _relax(v: Tensor, rate: Tensor, push: Tensor, h: Tensor) -> Tensor:
    return v - (push / rate - v) * torch.expm1(-h * rate)


def _semi_implicit(flows: Flows, v: Tensor, h: Tensor) -> Tensor:
    rate, push = flows(v)
    return (v + h * push) / (1 + h * rate)


def _hold(flows: Flows, v: Tensor, h: Tensor) -> Tensor:
    return _relax(v, *flows(v), h)


def _midpoint(flows: Flows, v: Tensor, h: Tensor) -> Tensor:
    return _relax(v, *flows(_relax(v, *flows(v), h / 2)), h)


def _slope(flows: Flows, v: Tensor) -> Tensor:
    rate, push = flows(v)
    return push - rate * v


def _euler(flows: Flows, v: Tensor, h: Tensor) -> Tensor:
    return v + h * _slope(flows, v)


def _rk4(flows: Flows, v: Tensor, h: Tensor) -> Tensor:
    first = _slope(flows, v)
    second = _slope(flows, v + h / 2 * first)
    third = _slope(flows, v + h / 2 * second)
    return v + h / 6 * (first + 2 * second + 2 * third + _slope(flows, v + h * third))


_STEPS = {"semi_implicit": _semi_implicit, "euler": _euler, "rk4": _rk4, "hold": _hold, "midpoint": _midpoint}
SOLVERS = tuple(_STEPS)  # in the order of problem.h


def ltc_scan_ref(
    x: Tensor,
    v: Tensor,
    dt: Tensor,
    lengths: Tensor | None,
    parameters: Sequence[Tensor],
    sensory: Graph,
    recurrent: Graph,
    unfolds: int,
    solver: str = SOLVERS[0],
) -> tuple[Tensor, Tensor]:
    """Run the neurons over a sequence; arguments and result are those of `ltc_scan`."""
    B, T, _ = x.shape
    H = v.shape[1]
    leak, current, capacitance = parameters[8:]
    inside = torch.ones(B, T, dtype=torch.bool, device=x.device)
    if lengths is not None:
        inside = torch.arange(T, device=x.device) < lengths.unsqueeze(1)
    outputs = []
    for t in range(T):
        here = inside[:, t].unsqueeze(1)
        h = (dt[:, t].unsqueeze(1) / unfolds).masked_fill(~here, 0.0)
        g0, c0 = _collect(sensory, H, x[:, t].masked_fill(~here, 0.0), parameters[:4])

        def flows(at: Tensor, g0: Tensor = g0, c0: Tensor = c0) -> tuple[Tensor, Tensor]:
            g, c = _collect(recurrent, H, at, parameters[4:8])
            return (leak + g0 + g) / capacitance, (current + c0 + c) / capacitance

        after = v
        for _ in range(unfolds):
            after = _STEPS[solver](flows, after, h)
        v = torch.where(here, after, v)
        outputs.append(v.masked_fill(~here, 0.0))
    return (torch.stack(outputs, 1) if outputs else x.new_zeros(B, 0, H)), v
