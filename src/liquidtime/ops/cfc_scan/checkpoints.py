"""The scan with little memory: the state is kept every √T steps, and the steps between are recomputed."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from liquidtime._checks import check_lengths
from liquidtime.ops.cfc_scan.backend import Backend, Inputs, Wanted, check_inputs
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.once import once


def _segment(inputs: Inputs, h: Tensor, m: Tensor | None, first: int, last: int) -> Inputs:
    """Return the inputs of the steps first…last-1, starting from the state h, m."""
    lengths = None if inputs.lengths is None else (inputs.lengths - first).clamp(0, last - first)
    masks = None if inputs.masks is None else inputs.masks[:, :, first:last]
    return Inputs(inputs.x[:, first:last], h, m, inputs.dt[:, first:last], lengths, inputs.weights, masks)


class CheckpointedScan(torch.autograd.Function):
    """The scan in eager mode with checkpoints; arguments and results are those of the plain one."""

    @staticmethod
    def forward(
        ctx: Any,
        backend: Backend,
        form: Form,
        seen: None,
        x: Tensor,
        h0: Tensor,
        m0: Tensor | None,
        dt: Tensor,
        lengths: Tensor | None,
        masks: Tensor | None,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Run segment by segment, keeping the state at the start of each."""
        inputs = Inputs(x, h0, m0, dt, lengths, weights, masks)
        B, T, _ = x.shape
        if lengths is not None:
            check_lengths(lengths, B, T, x.device)  # the segments would hide bad lengths
        length = max(1, math.isqrt(max(T - 1, 0)) + 1)
        y = x.new_empty(B, T, h0.shape[1])
        h, m, states = h0, m0, []
        for first in range(0, T, length):
            last = min(T, first + length)
            states += [h, m]
            part, h, m, _ = backend.forward(form, _segment(inputs, h, m, first, last), False, False)
            y[:, first:last] = part
        ctx.backend, ctx.form, ctx.length, ctx.count = backend, form, length, len(weights)
        ctx.save_for_backward(x, h0, m0, dt, lengths, masks, *weights, *states)
        ctx.set_materialize_grads(False)
        return y, h if T else h0.clone(), m if T or m0 is None else m0.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Run each segment forward again and then backward, starting with the last."""
        x, h0, m0, dt, lengths, masks, *rest = ctx.saved_tensors
        weights, states = rest[: ctx.count], rest[ctx.count :]
        wanted = Wanted(ctx.needs_input_grad[3], True, ctx.needs_input_grad[6])
        inputs = Inputs(x, h0, m0, dt, lengths, weights, masks)
        check_inputs(ctx.form, inputs)

        def run(incoming: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
            return _backward(ctx.backend, ctx.form, ctx.length, inputs, states, incoming, wanted)

        dx, dh, dm, ddt, *dweights = once(run, grads, (x, h0, m0, dt, *weights))
        return (None, None, None, dx, dh, dm, ddt, None, None, *dweights)


def _backward(
    backend: Backend,
    form: Form,
    length: int,
    inputs: Inputs,
    states: list[Tensor],
    incoming: tuple[Tensor | None, ...],
    wanted: Wanted,
) -> tuple[Tensor | None, ...]:
    x, dt = inputs.x, inputs.dt
    dy, dh, dm = incoming
    dx = x.new_empty(x.shape) if wanted.x else None
    ddt = x.new_empty(dt.shape) if wanted.dt else None
    grads: list[Tensor] | None = None
    T = x.shape[1]
    for index, first in reversed(list(enumerate(range(0, T, length)))):
        last = min(T, first + length)
        part = _segment(inputs, states[2 * index], states[2 * index + 1], first, last)
        y, _, _, saved = backend.forward(form, part, True, wanted.dt)
        assert saved is not None
        g = backend.backward(form, part, y, saved, (None if dy is None else dy[:, first:last], dh, dm), wanted)
        dh, dm = g.h0, g.m0
        if dx is not None and g.x is not None:
            dx[:, first:last] = g.x
        if ddt is not None and g.dt is not None:
            ddt[:, first:last] = g.dt
        grads = g.weights if grads is None else [a.add_(b) for a, b in zip(grads, g.weights, strict=True)]
    if grads is None:
        grads = [torch.zeros_like(w) for w in inputs.weights]
    return (dx, dh, dm, ddt, *grads)
