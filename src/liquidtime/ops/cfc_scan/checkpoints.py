"""The scan with little memory: the state is kept every √T steps, and what lies between is run again when needed."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.cfc_scan.problem import Inputs, run_backward, run_forward
from liquidtime.ops.once import once


def _segment(inputs: Inputs, h: Tensor, m: Tensor | None, first: int, last: int) -> Inputs:
    """Return the inputs of the steps first…last-1, which start from the state h, m."""
    lengths = None if inputs.lengths is None else (inputs.lengths - first).clamp(0, last - first)
    masks = None if inputs.masks is None else inputs.masks[:, :, first:last]
    return Inputs(inputs.x[:, first:last], h, m, inputs.dt[:, first:last], lengths, inputs.weights, masks)


class CheckpointedScan(torch.autograd.Function):
    """The scan in eager mode with checkpoints; arguments and results are those of the plain one."""

    @staticmethod
    def forward(
        ctx: Any,
        form: Form,
        x: Tensor,
        h0: Tensor,
        m0: Tensor | None,
        dt: Tensor,
        lengths: Tensor | None,
        masks: Tensor | None,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Run segment by segment and keep the state at the start of each."""
        inputs = Inputs(x, h0, m0, dt, lengths, weights, masks)
        T = x.shape[1]
        length = max(1, math.isqrt(max(T - 1, 0)) + 1)
        y = x.new_empty(x.shape[0], T, h0.shape[1])
        h, m, states = h0, m0, []
        for first in range(0, T, length):
            last = min(T, first + length)
            states += [h, m]
            part, h, m, _ = run_forward(form, _segment(inputs, h, m, first, last), False, False)
            y[:, first:last] = part
        ctx.form, ctx.length, ctx.count = form, length, len(weights)
        ctx.save_for_backward(x, h0, m0, dt, lengths, masks, *weights, *states)
        ctx.set_materialize_grads(False)
        return y, h if T else h0.clone(), m if T or m0 is None else m0.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Run each segment forward again, then backward, the last one first."""
        return once(lambda incoming: CheckpointedScan.rerun(ctx, *incoming), grads)

    @staticmethod
    def rerun(ctx: Any, dy: Tensor | None, dh: Tensor | None, dm: Tensor | None) -> tuple[Tensor | None, ...]:
        """Return the gradients of what `forward` was given."""
        x, h0, m0, dt, lengths, masks, *rest = ctx.saved_tensors
        weights, states = rest[: ctx.count], rest[ctx.count :]
        need_dx, need_ddt = ctx.needs_input_grad[1], ctx.needs_input_grad[4]
        inputs = Inputs(x, h0, m0, dt, lengths, weights, masks)
        dx = x.new_empty(x.shape) if need_dx else None
        ddt = x.new_empty(dt.shape) if need_ddt else None
        grads: list[Tensor] | None = None
        T = x.shape[1]
        for index, first in reversed(list(enumerate(range(0, T, ctx.length)))):
            last = min(T, first + ctx.length)
            part = _segment(inputs, states[2 * index], states[2 * index + 1], first, last)
            y, _, _, saved = run_forward(ctx.form, part, True, need_ddt)
            assert saved is not None
            incoming = (None if dy is None else dy[:, first:last], dh, dm)
            g = run_backward(ctx.form, part, y, saved, incoming, need_dx, need_ddt)
            dh, dm = g.h0, g.m0
            if dx is not None:
                dx[:, first:last] = g.x
            if ddt is not None:
                ddt[:, first:last] = g.dt
            grads = g.weights if grads is None else [a.add_(b) for a, b in zip(grads, g.weights, strict=True)]
        if grads is None:
            grads = [torch.zeros_like(w) for w in weights]
        return (None, dx, dh, dm, ddt, None, None, *grads)
