"""The scan as an operation of PyTorch: one operator for each direction, and a shortcut to them in eager mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.backend import (
    BACKENDS,
    CHANGED,
    Backend,
    FrozenStepper,
    Inputs,
    Seen,
    Stepper,
    Wanted,
    check_inputs,
    sizes_of,
)
from liquidtime.ops.cfc_scan.checkpoints import CheckpointedScan
from liquidtime.ops.cfc_scan.form import Form, decode
from liquidtime.ops.once import once, refuse
from liquidtime.ops.shapes import check_part


class _Scan(torch.autograd.Function):
    """The scan in eager mode."""

    @staticmethod
    def forward(
        ctx: Any,
        backend: Backend,
        form: Form,
        seen: Seen | None,
        x: Tensor,
        h0: Tensor,
        m0: Tensor | None,
        dt: Tensor,
        lengths: Tensor | None,
        masks: Tensor | None,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Run forward and keep what the backward run needs."""
        with_dt = ctx.needs_input_grad[6]
        if seen is None:
            inputs = Inputs(x, h0, m0, dt, lengths, weights, masks)
            sizes = sizes_of(form, inputs)
            y, hn, mn, saved = backend.forward(form, inputs, True, with_dt)
        else:
            sizes = seen.sizes
            y, hn, mn, saved = seen.forward(True, with_dt)
        ctx.static = backend, form, with_dt, sizes, seen is not None
        ctx.save_for_backward(x, h0, m0, dt, lengths, masks, y, saved, *weights)
        ctx.set_materialize_grads(False)
        return y, hn, mn

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Run backward."""
        x, h0, m0, dt, lengths, masks, y, saved, *weights = ctx.saved_tensors
        _, _, _, of_x, of_h0, of_m0, *_ = ctx.needs_input_grad
        backend, form, with_dt, sizes, looks = ctx.static
        inputs = Inputs(x, h0, m0, dt, lengths, weights, masks)
        wanted = Wanted(of_x, of_h0 or of_m0, with_dt)
        try:  # the tensors may have been changed by `tensor.data = ...`
            if not looks:
                check_inputs(form, inputs)
                check_part("y", y, (*x.shape[:2], h0.shape[1]), x)
            same = sizes == sizes_of(form, inputs)
        except (IndexError, TypeError, ValueError):
            same = False
        if not same:
            raise ValueError(CHANGED)

        def run(incoming: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
            g = backend.backward(form, inputs, y, saved, incoming, wanted)
            return (g.x, g.h0, g.m0, g.dt, *g.weights)

        dx, dh0, dm0, ddt, *dweights = once(run, grads, (x, h0, m0, dt, *weights))
        return (None, None, None, dx, dh0, dm0, ddt, None, None, *dweights)


# `apply` without its search for tensors left by transforms of `torch.func`: no backend that has looked takes those.
_apply_seen: Callable[..., Any] = super(torch.autograd.Function, _Scan).apply


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
    """Run the scan: y, hn, mn, and the data for the backward run; the last two are empty if there are none."""
    tensors = x, h0, m0, dt, lengths, weights, masks
    form, inputs, backend = _checked(tensors, code, forget_bias, save)
    y, hn, mn, saved = backend.forward(form, inputs, save, need_ddt, zeroed=True)
    return y, hn, x.new_empty(0) if mn is None else mn, x.new_empty(0) if saved is None else saved


@cfc_scan_op.register_fake
def _(*arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    *_, code, forget_bias, save, need_ddt = arguments
    form, inputs, backend = _checked(arguments[:7], code, forget_bias, save)
    x, h0, m0, *_ = inputs
    B, T, _ = x.shape
    H = h0.shape[1]
    saved = backend.saved_like(form, inputs, need_ddt) if save else x.new_empty(0)
    return x.new_empty(B, T, H), x.new_empty(B, H), x.new_empty((0,) if m0 is None else (B, H)), saved


def _checked(
    tensors: Sequence[Any], code: Sequence[int], forget_bias: float, training: bool
) -> tuple[Form, Inputs, Backend]:
    """Check the arguments of an operator (`tensors` in the order of `Inputs`) and return them with the backend."""
    form, inputs = decode(code, forget_bias), Inputs(*tensors)
    backend = BACKENDS.of(inputs.x, lambda backend: backend.refusal(form, inputs, training))
    check_inputs(form, inputs)
    return form, inputs, backend


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
    """Run the scan backward: dx, dh0, dm0 and ddt (empty if not requested), then the gradients of the weights."""
    tensors = x, h0, m0, dt, lengths, weights, masks
    form, inputs, backend = _checked(tensors, code, forget_bias, True)
    check_part("y", y, (*x.shape[:2], h0.shape[1]), x)
    for name, gradient, result in (("dy", dy, y), ("dhn", dhn, h0), ("dmn", dmn, h0)):
        if gradient is not None:
            check_part(name, gradient, result.shape, x)
    g = backend.backward(form, inputs, y, saved, (dy, dhn, dmn), Wanted(need_dx, True, need_ddt))
    return [x.new_empty(0) if t is None else t for t in (g.x, g.h0, g.m0, g.dt, *g.weights)]


@cfc_scan_backward_op.register_fake
def _(*arguments: Any) -> list[Tensor]:
    *_, code, forget_bias, need_dx, need_ddt = arguments
    _, inputs, _ = _checked(arguments[3:10], code, forget_bias, True)
    x, h0, m0, dt, _, weights, _ = inputs
    nothing = x.new_empty(0)
    likes = [x if need_dx else nothing, h0, nothing if m0 is None else h0, dt if need_ddt else nothing, *weights]
    return [x.new_empty(like.shape) for like in likes]


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, h0, m0, dt, lengths, weights, masks, code, forget_bias, _, need_ddt = inputs
    y, _, _, saved = output
    ctx.static = (list(code), forget_bias, ctx.needs_input_grad[0], need_ddt)
    ctx.save_for_backward(x, h0, m0, dt, lengths, masks, y, saved, *weights)
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, dy: Tensor | None, dhn: Tensor | None, dmn: Tensor | None, *_: Any) -> Any:
    x, h0, m0, dt, lengths, masks, y, saved, *weights = ctx.saved_tensors
    code, forget_bias, need_dx, need_ddt = ctx.static
    dmn = None if m0 is None else dmn
    dx, dh0, dm0, ddt, *dweights = cfc_scan_backward_op(
        dy, dhn, dmn, x, h0, m0, dt, lengths, weights, masks, y, saved, code, forget_bias, need_dx, need_ddt
    )
    of_inputs = (dx if need_dx else None, dh0, None if m0 is None else dm0, ddt if need_ddt else None)
    return (*of_inputs, None, list(dweights), None, None, None, None, None)


cfc_scan_op.register_autograd(_backward, setup_context=_setup)
cfc_scan_backward_op.register_autograd(refuse)


def cfc_scan(
    x: Tensor,
    state: tuple[Tensor, ...],
    dt: Tensor,
    lengths: Tensor | None,
    weights: Sequence[Tensor],
    form: Form,
    draw_masks: Callable[[], Tensor] | None = None,
    *,
    recompute: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]] | None:
    """Run the recurrence of `form` over a sequence on the backend of its device, or return None if none accepts it.

    The caller then runs its own plain loop, which is the definition. If operators are recorded or watched, this calls
    `torch.ops.liquidtime.cfc_scan`; otherwise it does the same with less overhead.

    Args:
        x: (B, T, D) samples.
        state: (h (B, H),), or (h, m) with a memory.
        dt: (B, T) time since the previous sample, at least 0.
        lengths: (B,) number of samples of each row, or None; values past the end of a row are ignored.
        weights: for each backbone layer its weight (U, ·) and bias (U,); for the heads (heads·H, F) and (heads·H,); for
            the Cf-S forms A and the rate, which is at least 0, and B if it is learned, each (H,); for a memory (4H, D +
            H) and (4H,).
        form: the equations.
        draw_masks: function that draws (K, B, T, U), the factors of the outputs of the masked layers, pass by pass and
            layer by layer; called only if a backend runs the scan.
        recompute: keep the state only every √T steps and compute the steps between again for the gradients: memory
            grows with √T, at the cost of one more forward run. A recorded operator keeps everything.

    Returns:
        (B, T, H) the state after each step, 0 past the end of a row; and the last state.

    Raises:
        ValueError: a shape does not fit, an interval is negative, NaN or infinite, or a length is outside 0…T.

    """
    tensors = [x, dt, *state, *weights]
    training = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    inputs = Inputs(x, state[0], state[1] if form.remembers else None, dt, lengths, weights, None)
    if lengths is None and draw_masks is None and not recompute:
        backend = BACKENDS.unwatched(tensors)
        seen = None if backend is None else backend.look(form, inputs)
        if backend is not None and seen is not None:
            return _run_seen(backend, form, inputs, seen, training)
    choice = BACKENDS.choose(tensors, lambda backend: form.fault() or backend.refusal(form, inputs, training))
    if choice is None:
        return None
    if draw_masks is not None:
        inputs = inputs._replace(masks=draw_masks())
    if choice.traced:
        need_ddt, code = training and dt.requires_grad, form.encode()
        y, hn, mn, _ = cfc_scan_op(*inputs[:5], list(weights), inputs.masks, code, form.forget_bias, training, need_ddt)
        return y, (hn, mn) if form.remembers else (hn,)
    check_inputs(form, inputs)
    if training:
        copy = None if lengths is None else lengths.clone()  # the caller may change its own before the backward run
        way: Any = CheckpointedScan if recompute else _Scan
        y, hn, last = way.apply(choice.backend, form, None, x, state[0], inputs.m0, dt, copy, inputs.masks, *weights)
    else:
        y, hn, last, _ = choice.backend.forward(form, inputs, False, False)
    return y, (hn,) if last is None else (hn, last)


def _run_seen(
    backend: Backend, form: Form, inputs: Inputs, seen: Seen, training: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Run a scan that its backend has already inspected."""
    if training:
        y, hn, mn = _apply_seen(backend, form, seen, *inputs[:5], None, *inputs.weights)
    else:
        y, hn, mn, _ = seen.forward(False, False)
    return y, (hn,) if mn is None else (hn, mn)


def cfc_stepper(form: Form, weights: Sequence[Sequence[Tensor]], sources: Sequence[Tensor]) -> Stepper | None:
    """Return a stepper for single samples without gradients, or None if no backend has one.

    Args:
        form: form of every layer of a stack.
        weights: weights of each layer, in the order of `cfc_scan`.
        sources: the parameters and buffers from which the weights were made.

    """
    backend = _backend_of_steps(form, weights)
    return None if backend is None else backend.stepper(form, weights, sources)


def cfc_frozen_stepper(form: Form, weights: Sequence[Sequence[Tensor]], rows: int) -> FrozenStepper | None:
    """Return a stepper for single samples with a copy of the current weights, or None if no backend has one.

    Args:
        form: form of every layer of a stack.
        weights: weights of each layer, in the order of `cfc_scan`.
        rows: B.

    """
    backend = _backend_of_steps(form, weights)
    return None if backend is None else backend.frozen(form, weights, rows)


def _backend_of_steps(form: Form, weights: Sequence[Sequence[Tensor]]) -> Backend | None:
    tensors = [tensor for part in weights for tensor in part]
    nothing = tensors[0].new_empty(0)
    inputs = Inputs(nothing, nothing, None, nothing, None, tensors, None)
    choice = BACKENDS.choose(tensors, lambda backend: form.fault() or backend.refusal(form, inputs, False))
    return None if choice is None or choice.traced else choice.backend
