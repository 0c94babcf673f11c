"""The kernel as an operation of PyTorch: by the short way in eager mode, as a custom operator when traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.checkpoints import CheckpointedScan
from liquidtime.ops.cfc_scan.form import Form, decode
from liquidtime.ops.cfc_scan.problem import backbone_units, kept_by
from liquidtime.ops.cfc_scan.runs import Inputs, Wanted, run_backward, run_forward
from liquidtime.ops.once import once, refuse


class Scan(torch.autograd.Function):
    """The scan in eager mode; with `check` the intervals are looked at, see `run_forward`."""

    @staticmethod
    def forward(
        ctx: Any,
        form: Form,
        check: bool,
        x: Tensor,
        h0: Tensor,
        m0: Tensor | None,
        dt: Tensor,
        lengths: Tensor | None,
        masks: Tensor | None,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Run the kernel and keep what the backward run needs."""
        ctx.form, ctx.with_dt = form, ctx.needs_input_grad[5]
        inputs = Inputs(x, h0, m0, dt, lengths, weights, masks)
        y, hn, mn, saved = run_forward(form, inputs, True, ctx.with_dt, check=check)
        ctx.save_for_backward(x, h0, m0, dt, lengths, masks, y, saved, *weights)
        ctx.set_materialize_grads(False)
        return y, hn, mn

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Run the kernel backward."""
        x, h0, m0, dt, lengths, masks, y, saved, *weights = ctx.saved_tensors
        _, _, of_x, of_h0, of_m0, *_ = ctx.needs_input_grad
        inputs, wanted = Inputs(x, h0, m0, dt, lengths, weights, masks), Wanted(of_x, of_h0 or of_m0, ctx.with_dt)

        def run(incoming: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
            g = run_backward(ctx.form, inputs, y, saved, incoming, wanted)  # type: ignore[arg-type]
            return (g.x, g.h0, g.m0, g.dt, *g.weights)

        dx, dh0, dm0, ddt, *dweights = once(run, grads)
        return (None, None, dx, dh0, dm0, ddt, None, None, *dweights)


@torch.library.custom_op("liquidtime::cfc_scan", mutates_args=())
def cfc_scan_op(
    x: Tensor,
    h0: Tensor,
    m0: Tensor | None,
    dt: Tensor,
    lengths: Tensor | None,
    weights: Sequence[Tensor],
    masks: Tensor | None,
    code: Sequence[int],
    forget_bias: float,
    save: bool,
    need_ddt: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Run the scan for a tracer: y, hn, mn, and what the backward run needs, the last two empty where there is none."""
    form = decode(list(code), forget_bias)
    y, hn, mn, saved = run_forward(form, Inputs(x, h0, m0, dt, lengths, weights, masks), save, need_ddt, zeroed=True)
    return y, hn, x.new_empty(0) if mn is None else mn, x.new_empty(0) if saved is None else saved


@cfc_scan_op.register_fake
def _(
    x: Tensor,
    h0: Tensor,
    m0: Tensor | None,
    dt: Tensor,
    lengths: Tensor | None,
    weights: Sequence[Tensor],
    masks: Tensor | None,
    code: Sequence[int],
    forget_bias: float,
    save: bool,
    need_ddt: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    form = decode(list(code), forget_bias)
    B, T, _ = x.shape
    H, U = h0.shape[1], backbone_units(form, weights)
    size = kept_by(form, B, T, H, U, x.element_size(), need_ddt).total(form.layers) if save else 0
    mn = (0,) if m0 is None else (B, H)
    return x.new_empty(B, T, H), x.new_empty(B, H), x.new_empty(mn), x.new_empty(size)


@torch.library.custom_op("liquidtime::cfc_scan_backward", mutates_args=())
def cfc_scan_backward_op(
    dy: Tensor | None,
    dhn: Tensor | None,
    dmn: Tensor | None,
    x: Tensor,
    h0: Tensor,
    m0: Tensor | None,
    dt: Tensor,
    lengths: Tensor | None,
    weights: Sequence[Tensor],
    masks: Tensor | None,
    y: Tensor,
    saved: Tensor,
    code: Sequence[int],
    forget_bias: float,
    need_dx: bool,
    need_ddt: bool,
) -> list[Tensor]:
    """Run the scan backward for a tracer: dx, dh0, dm0, ddt (empty where not asked for), then the weights'."""
    form = decode(list(code), forget_bias)
    inputs = Inputs(x, h0, m0, dt, lengths, weights, masks)
    g = run_backward(form, inputs, y, saved, (dy, dhn, dmn), Wanted(need_dx, True, need_ddt))
    return [x.new_empty(0) if t is None else t for t in (g.x, g.h0, g.m0, g.dt, *g.weights)]


@cfc_scan_backward_op.register_fake
def _(
    dy: Tensor | None,
    dhn: Tensor | None,
    dmn: Tensor | None,
    x: Tensor,
    h0: Tensor,
    m0: Tensor | None,
    dt: Tensor,
    lengths: Tensor | None,
    weights: Sequence[Tensor],
    masks: Tensor | None,
    y: Tensor,
    saved: Tensor,
    code: Sequence[int],
    forget_bias: float,
    need_dx: bool,
    need_ddt: bool,
) -> list[Tensor]:
    B, T, D = x.shape
    H = h0.shape[1]
    shapes = [(B, T, D) if need_dx else (0,), (B, H), (0,) if m0 is None else (B, H), (B, T) if need_ddt else (0,)]
    return [x.new_empty(shape) for shape in [*shapes, *(w.shape for w in weights)]]


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, h0, m0, dt, lengths, weights, masks, code, forget_bias, _, need_ddt = inputs
    y, _, _, saved = output
    ctx.static = (list(code), forget_bias, ctx.needs_input_grad[0], need_ddt, len(weights))
    ctx.save_for_backward(x, h0, m0, dt, lengths, masks, y, saved, *weights)
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, dy: Tensor | None, dhn: Tensor | None, dmn: Tensor | None, *_: Any) -> Any:
    x, h0, m0, dt, lengths, masks, y, saved, *weights = ctx.saved_tensors
    code, forget_bias, need_dx, need_ddt, _ = ctx.static
    dmn = None if m0 is None else dmn
    grads = cfc_scan_backward_op(
        dy, dhn, dmn, x, h0, m0, dt, lengths, weights, masks, y, saved, code, forget_bias, need_dx,
        need_ddt,
    )  # fmt: skip
    dx, dh0, dm0, ddt, *dweights = grads
    return (
        dx if need_dx else None,
        dh0,
        None if m0 is None else dm0,
        ddt if need_ddt else None,
        None,
        list(dweights),
        None,
        None,
        None,
        None,
        None,
    )


cfc_scan_op.register_autograd(_backward, setup_context=_setup)
cfc_scan_backward_op.register_autograd(refuse)


def cfc_scan_native(
    x: Tensor,
    state: tuple[Tensor, ...],
    dt: Tensor,
    lengths: Tensor | None,
    weights: Sequence[Tensor],
    form: Form,
    masks: Tensor | None = None,
    *,
    recompute: bool = False,
    traced: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Run the scan on the kernel; arguments and result are those of `cfc_scan`.

    With `traced` it is called as the custom operator `liquidtime::cfc_scan`, which a tracer can record and plan the
    memory of, whatever `recompute` says; without, by the shorter way of eager mode.
    """
    h0, m0 = state[0], state[1] if form.remembers else None
    training = torch.is_grad_enabled() and any(
        t.requires_grad for t in (x, dt, *state, *weights, *(() if masks is None else (masks,)))
    )
    if traced:
        need_ddt = training and dt.requires_grad
        y, hn, mn, *_ = cfc_scan_op(
            x, h0, m0, dt, lengths, list(weights), masks, form.encode(), form.forget_bias, training, need_ddt
        )
        return y, (hn,) if m0 is None else (hn, mn)
    if training:
        if recompute:
            y, hn, last = CheckpointedScan.apply(form, x, h0, m0, dt, lengths, masks, *weights)  # type: ignore[no-untyped-call]
        else:
            y, hn, last = Scan.apply(form, False, x, h0, m0, dt, lengths, masks, *weights)  # type: ignore[no-untyped-call]
    else:
        y, hn, last, _ = run_forward(form, Inputs(x, h0, m0, dt, lengths, weights, masks), False, False)
    return y, (hn,) if last is None else (hn, last)
