"""The kernel as an operation of PyTorch: by the short way in eager mode, as a custom operator when traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from liquidtime.ops.ltc_scan.problem import Inputs, run_backward, run_forward, states_shape
from liquidtime.ops.ltc_scan.reference import SOLVERS, Graph
from liquidtime.ops.once import once, refuse


class _Scan(torch.autograd.Function):
    """The scan in eager mode."""

    @staticmethod
    def forward(
        ctx: Any,
        graphs: tuple[Graph, Graph],
        steps: tuple[int, str],
        x: Tensor,
        v0: Tensor,
        dt: Tensor,
        lengths: Tensor | None,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor]:
        y, vn, states = run_forward(Inputs(x, v0, dt, lengths, parameters, *graphs, *steps), True)
        ctx.static = graphs, steps
        ctx.save_for_backward(x, v0, dt, lengths, states, *parameters)
        ctx.set_materialize_grads(False)
        return y, vn

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        x, v0, dt, lengths, states, *parameters = ctx.saved_tensors
        graphs, steps = ctx.static
        need_dx, need_ddt = ctx.needs_input_grad[2], ctx.needs_input_grad[4]

        def run(incoming: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
            inputs = Inputs(x, v0, dt, lengths, parameters, *graphs, *steps)
            dx, dv0, ddt, rest = run_backward(inputs, states, incoming[0], incoming[1], need_dx, need_ddt)
            return (dx, dv0, ddt, *rest)

        result = once(run, grads)
        dx, dv0, ddt, *rest = result
        return (None, None, dx, dv0, ddt, None, *rest)


@torch.library.custom_op("liquidtime::ltc_scan", mutates_args=())
def ltc_scan_op(
    x: Tensor,
    v0: Tensor,
    dt: Tensor,
    lengths: Tensor | None,
    parameters: Sequence[Tensor],
    graphs: Sequence[Tensor],
    unfolds: int,
    save: bool,
    need_ddt: bool,
    solver: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the scan for a tracer: y, vn, and what the backward run needs, empty without `save`."""
    inputs = Inputs(x, v0, dt, lengths, parameters, Graph(*graphs[:3]), Graph(*graphs[3:]), unfolds, solver)
    y, vn, states = run_forward(inputs, save)
    if states is None:
        return y, vn, x.new_empty(0)
    if lengths is not None:  # what a ragged batch leaves unwritten must not differ from run to run
        inside = torch.arange(x.shape[1]) < lengths.max() if len(lengths) else torch.zeros(0, dtype=torch.bool)
        states[:, ~inside] = 0.0
    return y, vn, states


@ltc_scan_op.register_fake
def _(
    x: Tensor,
    v0: Tensor,
    dt: Tensor,
    lengths: Tensor | None,
    parameters: Sequence[Tensor],
    graphs: Sequence[Tensor],
    unfolds: int,
    save: bool,
    need_ddt: bool,
    solver: str,
) -> tuple[Tensor, Tensor, Tensor]:
    B, T, _ = x.shape
    H = v0.shape[1]
    shape = states_shape(B, T, H, unfolds, x.element_size()) if save else (0,)
    return x.new_empty(B, T, H), x.new_empty(B, H), x.new_empty(shape)


@torch.library.custom_op("liquidtime::ltc_scan_backward", mutates_args=())
def ltc_scan_backward_op(
    dy: Tensor | None,
    dvn: Tensor | None,
    x: Tensor,
    v0: Tensor,
    dt: Tensor,
    lengths: Tensor | None,
    parameters: Sequence[Tensor],
    graphs: Sequence[Tensor],
    states: Tensor,
    unfolds: int,
    need_dx: bool,
    need_ddt: bool,
    solver: str,
) -> list[Tensor]:
    """Run the scan backward for a tracer: dx, dv0, ddt (empty where not asked for), then the parameters'."""
    inputs = Inputs(x, v0, dt, lengths, parameters, Graph(*graphs[:3]), Graph(*graphs[3:]), unfolds, solver)
    dx, dv0, ddt, rest = run_backward(inputs, states, dy, dvn, need_dx, need_ddt)
    return [x.new_empty(0) if dx is None else dx, dv0, x.new_empty(0) if ddt is None else ddt, *rest]


@ltc_scan_backward_op.register_fake
def _(
    dy: Tensor | None,
    dvn: Tensor | None,
    x: Tensor,
    v0: Tensor,
    dt: Tensor,
    lengths: Tensor | None,
    parameters: Sequence[Tensor],
    graphs: Sequence[Tensor],
    states: Tensor,
    unfolds: int,
    need_dx: bool,
    need_ddt: bool,
    solver: str,
) -> list[Tensor]:
    shapes = [x.shape if need_dx else (0,), v0.shape, dt.shape if need_ddt else (0,)]
    return [x.new_empty(shape) for shape in [*shapes, *(value.shape for value in parameters)]]


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, v0, dt, lengths, parameters, graphs, unfolds, _, need_ddt, solver = inputs
    ctx.static = unfolds, ctx.needs_input_grad[0], need_ddt, solver, len(parameters)
    ctx.save_for_backward(x, v0, dt, lengths, output[2], *parameters, *graphs)
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, dy: Tensor | None, dvn: Tensor | None, *_: Any) -> Any:
    x, v0, dt, lengths, states, *rest = ctx.saved_tensors
    unfolds, need_dx, need_ddt, solver, count = ctx.static
    parameters, graphs = rest[:count], rest[count:]
    dx, dv0, ddt, *grads = ltc_scan_backward_op(
        dy, dvn, x, v0, dt, lengths, parameters, graphs, states, unfolds, need_dx, need_ddt, solver
    )
    nothing = [None] * len(graphs)
    return dx if need_dx else None, dv0, ddt if need_ddt else None, None, list(grads), nothing, None, None, None, None


ltc_scan_op.register_autograd(_backward, setup_context=_setup)
ltc_scan_backward_op.register_autograd(refuse)


def ltc_scan_native(
    x: Tensor,
    v: Tensor,
    dt: Tensor,
    lengths: Tensor | None,
    parameters: Sequence[Tensor],
    sensory: Graph,
    recurrent: Graph,
    unfolds: int,
    solver: str = SOLVERS[0],
    *,
    traced: bool = False,
) -> tuple[Tensor, Tensor]:
    """Run the neurons on the kernel; arguments and result are those of `ltc_scan`.

    With `traced` it is called as the custom operator `liquidtime::ltc_scan`, which a tracer can record; without, by
    the shorter way of eager mode.
    """
    training = torch.is_grad_enabled() and any(t.requires_grad for t in (x, v, dt, *parameters))
    if traced:
        graphs = [*sensory, *recurrent]
        need_ddt = training and dt.requires_grad
        y, vn, _ = ltc_scan_op(x, v, dt, lengths, list(parameters), graphs, unfolds, training, need_ddt, solver)
        return y, vn
    if training:
        done = _Scan.apply((sensory, recurrent), (unfolds, solver), x, v, dt, lengths, *parameters)  # type: ignore[no-untyped-call]
        return done[0], done[1]
    y, vn, _ = run_forward(Inputs(x, v, dt, lengths, parameters, sensory, recurrent, unfolds, solver), False)
    return y, vn
