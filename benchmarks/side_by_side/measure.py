"""What one repetition does: a training step, a whole sequence, or one sample."""

from __future__ import annotations

import torch

from benchmarks.side_by_side.contenders import Contender
from benchmarks.side_by_side.networks import signals
from benchmarks.side_by_side.shape import Shape
from benchmarks.side_by_side.timing import Timed


def timed_training(entry: Contender, shape: Shape, *, ragged: bool = False) -> Timed:
    """Return a forward and a backward pass; `ragged` gives the series lengths spread over 1…T."""
    torch.manual_seed(0)
    if entry.training is not None:
        return Timed(entry.training(shape), entry.backend)
    network = entry.make(shape)
    x, dt, spread = signals(shape)
    lengths = spread if ragged else None
    with torch.no_grad():
        width = network.run(x[:, :1], dt[:, :1]).shape[-1]
    grad = torch.randn(shape.B, shape.T, width)

    def call() -> None:
        network.zero_grad()
        torch.autograd.backward(network.run(x, dt, lengths), grad)

    return Timed(call, entry.backend)


def timed_sequence(entry: Contender, shape: Shape) -> Timed:
    """Return a forward pass over whole sequences, no gradients recorded."""
    torch.manual_seed(0)
    network = entry.make(shape).eval()
    x, dt, _ = signals(shape)
    return Timed(lambda: network.run(x, dt), entry.backend, grad=False)


def timed_step(entry: Contender, shape: Shape) -> Timed:
    """Return one sample after T others, no gradients recorded."""
    torch.manual_seed(0)
    network = entry.make(shape).eval()
    x, dt, _ = signals(shape)
    x_t, dt_t = x[:, -1].contiguous(), dt[:, -1].contiguous()
    with torch.no_grad():
        state = network.begin(x, dt)
    return Timed(lambda: network.step(x_t, state, dt_t), entry.backend, grad=False)


def timed_product(size: int) -> Timed:
    """Return the product of two (size, size) matrices into a third that is there already."""
    source = torch.Generator().manual_seed(0)
    a, b = torch.randn(size, size, generator=source), torch.randn(size, size, generator=source)
    out = torch.empty(size, size)
    return Timed(lambda: torch.mm(a, b, out=out), grad=False)
