"""The scan as an operation of PyTorch: one operator for each direction, and a shortcut to them in eager mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from liquidtime.ops.ltc_scan.backend import BACKENDS, Backend, Gradients, Inputs, check_inputs
from liquidtime.ops.ltc_scan.graph import SOLVERS, Graph
from liquidtime.ops.once import once, refuse
from liquidtime.ops.shapes import check_part


class _Scan(torch.autograd.Function):
    """The scan in eager mode."""

    @staticmethod
    def forward(
        ctx: Any,
        backend: Backend,
        graphs: tuple[Graph, Graph],
        steps: tuple[int, str],
        x: Tensor,
        v0: Tensor,
        dt: Tensor,
        lengths: Tensor | None,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor]:
        y, vn, saved = backend.forward(Inputs(x, v0, dt, lengths, parameters, *graphs, *steps), True)
        ctx.static = backend, graphs, steps
        ctx.save_for_backward(x, v0, dt, lengths, saved, *parameters)
        ctx.set_materialize_grads(False)
        return y, vn

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        x, v0, dt, lengths, saved, *parameters = ctx.saved_tensors
        backend, graphs, steps = ctx.static
        need_dx, need_ddt = ctx.needs_input_grad[3], ctx.needs_input_grad[5]

        def run(incoming: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
            inputs = Inputs(x, v0, dt, lengths, parameters, *graphs, *steps)
            g = _run_backward(backend, inputs, saved, incoming[0], incoming[1], need_dx, need_ddt)
            return (g.x, g.v0, g.dt, *g.parameters)

        dx, dv0, ddt, *rest = once(run, grads, (x, v0, dt, *parameters))
        return (None, None, None, dx, dv0, ddt, None, *rest)


def _run_backward(
    backend: Backend,
    inputs: Inputs,
    saved: Tensor,
    dy: Tensor | None,
    dvn: Tensor | None,
    need_dx: bool,
    need_ddt: bool,
) -> Gradients:
    """Check everything again, since parameters may have been replaced after the forward run, and run backward."""
    check_inputs(inputs)
    B, T, _ = inputs.x.shape
    for name, gradient, shape in (("dy", dy, (B, T, inputs.v0.shape[1])), ("dvn", dvn, inputs.v0.shape)):
        if gradient is not None:
            check_part(name, gradient, shape, inputs.x)
    return backend.backward(inputs, saved, dy, dvn, need_dx, need_ddt)


def _checked(
    tensors: Sequence[Any], graphs: Sequence[Tensor], unfolds: int, solver: str, training: bool
) -> tuple[Inputs, Backend]:
    """Check the arguments of an operator (`tensors` up to the parameters) and return them with the backend."""
    if len(graphs) != 6:
        raise ValueError(f"`graphs` must be the 6 vectors of two graphs; got {len(graphs)}")
    x, v0, dt, lengths, parameters = tensors
    inputs = Inputs(x, v0, dt, lengths, parameters, Graph(*graphs[:3]), Graph(*graphs[3:]), unfolds, solver)
    backend = BACKENDS.of(x, lambda backend: backend.refusal(inputs, training))
    check_inputs(inputs)
    return inputs, backend


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
    """Run the scan: y, vn, and the data for the backward run, which are empty without `save`."""
    inputs, backend = _checked((x, v0, dt, lengths, parameters), graphs, unfolds, solver, save)
    y, vn, saved = backend.forward(inputs, save, zeroed=True)
    return y, vn, x.new_empty(0) if saved is None else saved


@ltc_scan_op.register_fake
def _(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    *tensors, graphs, unfolds, save, _, solver = arguments
    inputs, backend = _checked(tensors, graphs, unfolds, solver, save)
    x, (_, H) = inputs.x, inputs.v0.shape
    saved = backend.saved_like(inputs) if save else x.new_empty(0)
    return x.new_empty(*x.shape[:2], H), x.new_empty(inputs.v0.shape), saved


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
    saved: Tensor,
    unfolds: int,
    need_dx: bool,
    need_ddt: bool,
    solver: str,
) -> list[Tensor]:
    """Run the scan backward: dx, dv0 and ddt (empty if not requested), then the gradients of the parameters."""
    inputs, backend = _checked((x, v0, dt, lengths, parameters), graphs, unfolds, solver, True)
    g = _run_backward(backend, inputs, saved, dy, dvn, need_dx, need_ddt)
    return [x.new_empty(0) if g.x is None else g.x, g.v0, x.new_empty(0) if g.dt is None else g.dt, *g.parameters]


@ltc_scan_backward_op.register_fake
def _(*arguments: Any) -> list[Tensor]:
    _, _, *tensors, graphs, _, unfolds, need_dx, need_ddt, solver = arguments
    (x, v0, dt, _, parameters, *_), _ = _checked(tensors, graphs, unfolds, solver, True)
    nothing = x.new_empty(0)
    likes = [x if need_dx else nothing, v0, dt if need_ddt else nothing, *parameters]
    return [x.new_empty(like.shape) for like in likes]


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, v0, dt, lengths, parameters, graphs, unfolds, _, need_ddt, solver = inputs
    ctx.static = unfolds, ctx.needs_input_grad[0], need_ddt, solver, len(parameters)
    ctx.save_for_backward(x, v0, dt, lengths, output[2], *parameters, *graphs)
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, dy: Tensor | None, dvn: Tensor | None, *_: Any) -> Any:
    x, v0, dt, lengths, saved, *rest = ctx.saved_tensors
    unfolds, need_dx, need_ddt, solver, count = ctx.static
    parameters, graphs = rest[:count], rest[count:]
    dx, dv0, ddt, *grads = ltc_scan_backward_op(
        dy, dvn, x, v0, dt, lengths, parameters, graphs, saved, unfolds, need_dx, need_ddt, solver
    )
    nothing = [None] * len(graphs)
    return dx if need_dx else None, dv0, ddt if need_ddt else None, None, list(grads), nothing, None, None, None, None


ltc_scan_op.register_autograd(_backward, setup_context=_setup)
ltc_scan_backward_op.register_autograd(refuse)


def ltc_scan(
    x: Tensor,
    v: Tensor,
    dt: Tensor,
    lengths: Tensor | None,
    parameters: Sequence[Tensor],
    sensory: Graph,
    recurrent: Graph,
    unfolds: int,
    solver: str = SOLVERS[0],
) -> tuple[Tensor, Tensor] | None:
    """Run neurons over a sequence on the backend of their device, or return None if no backend accepts them.

    The caller then runs its own plain loop, which is the definition. If operators are recorded or watched, this calls
    `torch.ops.liquidtime.ltc_scan`; otherwise it does the same with less overhead.

    Args:
        x: (B, T, D) inputs of the sensory neurons.
        v: (B, H) potentials.
        dt: (B, T) time since the previous sample, at least 0.
        lengths: (B,) number of samples of each row, or None; values past the end of a row are ignored.
        parameters: w, γ, μ, E of the sensory synapses, each (n,), and of the recurrent ones; then gl, gl·vl and cm,
            each (H,). w, gl and cm are positive.
        sensory: the synapses from sensory neurons.
        recurrent: the synapses between neurons.
        unfolds: number of solver steps per sample.
        solver: one of `SOLVERS`: "semi_implicit", "euler", "rk4", "hold" or "midpoint".

    Returns:
        (B, T, H) the potentials after each sample, 0 past the end of a row; and (B, H) the last ones.

    Raises:
        ValueError: a shape does not fit, an interval is negative, NaN or infinite, or a length is outside 0…T.

    """
    tensors = [x, v, dt, *parameters]
    training = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    inputs = Inputs(x, v, dt, lengths, parameters, sensory, recurrent, unfolds, solver)
    choice = BACKENDS.choose(tensors, lambda backend: backend.refusal(inputs, training))
    if choice is None:
        return None
    if choice.traced:
        graphs, need_ddt = [*sensory, *recurrent], training and dt.requires_grad
        y, vn, _ = ltc_scan_op(x, v, dt, lengths, list(parameters), graphs, unfolds, training, need_ddt, solver)
        return y, vn
    check_inputs(inputs)
    if training:
        copy = None if lengths is None else lengths.clone()  # the caller may change its own before the backward run
        static: Any = (choice.backend, (sensory, recurrent), (unfolds, solver))
        y, vn = _Scan.apply(*static, x, v, dt, copy, *parameters)  # type: ignore[no-untyped-call]
    else:
        y, vn, _ = choice.backend.forward(inputs, False)
    return y, vn
