"""The forward and the backward run of the kernel on tensors, and the structure that crosses the C boundary."""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_double, c_int64, c_void_p

import torch
from torch import Tensor

from liquidtime.ops.ltc_scan.backend import Gradients, Inputs, Outputs
from liquidtime.ops.ltc_scan.graph import SOLVERS, STAGES
from liquidtime.ops.native import library
from liquidtime.ops.shapes import check_part


class _Synapses(ctypes.Structure):
    _fields_ = (
        ("count", c_int64),
        *((name, c_void_p) for name in ("first", "pre", "w", "gamma", "mu", "E", "dw", "dgamma", "dmu", "dE")),
    )


_SIZES = ("B", "T", "D", "H", "unfolds", "solver", "threads", "save", "need_dx", "need_ddt")
_STRIDES = ("x_row", "x_step", "dt_row", "dt_step", "dy_row", "dy_step")


class Problem(ctypes.Structure):
    """`LtcProblem` of problem.h, field by field."""

    _fields_ = (
        *((name, c_int64) for name in (*_SIZES, *_STRIDES)),
        *((name, c_void_p) for name in ("x", "dt", "v0", "lengths")),
        ("sensory", _Synapses),
        ("recurrent", _Synapses),
        *((name, c_void_p) for name in ("leak", "leak_current", "capacitance", "y", "vn", "states", "dy", "dvn")),
        *((name, c_void_p) for name in ("dx", "dv0", "ddt", "dleak", "dleak_current", "dcapacitance")),
    )


@functools.cache
def kernel() -> ctypes.CDLL:
    """Return the library with this operation's functions declared, after a check that both sides agree."""
    lib = library.load()
    for name in ("lt_ltc_forward", "lt_ltc_backward"):
        getattr(lib, name).argtypes = [c_void_p, c_int64]
    lib.lt_ltc_work.argtypes, lib.lt_ltc_work.restype = [c_void_p], c_double
    lib.lt_ltc_problem_size.restype = c_int64
    if lib.lt_ltc_problem_size() != ctypes.sizeof(Problem):
        raise library.NativeMissingError("the native kernels are of another version of the package. Build them again.")
    return lib


def states_shape(inputs: Inputs) -> tuple[int, ...]:
    """Return the shape of the tensor that a forward run saves, in its own order.

    It has, for each row, step, unfold and neuron, the potential, and the conductance and current at each solver stage.
    """
    (B, T, _), H = inputs.x.shape, inputs.v0.shape[1]
    return B, T, inputs.unfolds, 1 + 2 * STAGES[inputs.solver], H


def _describe(p: Problem, inputs: Inputs, keep: list[Tensor]) -> None:
    x, v0, dt, lengths, parameters, sensory, recurrent, unfolds, solver = inputs
    p.B, p.T, p.D = x.shape
    p.H, p.unfolds, p.threads = v0.shape[1], unfolds, torch.get_num_threads()
    p.solver = SOLVERS.index(solver)
    keep += (x := library.dense_last("x", x), dt := library.settled("dt", dt))
    p.x, (p.x_row, p.x_step, _) = x.data_ptr(), x.stride()
    p.dt, (p.dt_row, p.dt_step) = dt.data_ptr(), dt.stride()
    if lengths is not None:
        p.lengths = library.dense_address("lengths", lengths, keep)
    p.v0, *at = library.dense_addresses(("v0", "parameters"), (v0, *parameters), keep)
    for synapses, graph, values in ((p.sensory, sensory, at[:4]), (p.recurrent, recurrent, at[4:8])):
        synapses.count = len(graph.pre)
        synapses.first, synapses.pre = library.dense_addresses(("first", "pre"), (graph.first, graph.pre), keep)
        synapses.w, synapses.gamma, synapses.mu, synapses.E = values
    p.leak, p.leak_current, p.capacitance = at[8:]


def _call(function: str, p: Problem, inputs: Inputs) -> None:
    code = getattr(kernel(), function)(ctypes.addressof(p), int(inputs.x.dtype is torch.float64))
    library.raise_for(code, inputs.dt, inputs.lengths)


def run_forward(inputs: Inputs, save: bool, zeroed: bool) -> Outputs:
    """Run the kernel forward; see `Backend.forward`."""
    x, v0, lengths = inputs.x, inputs.v0, inputs.lengths
    B, T, _ = x.shape
    H = v0.shape[1]
    p = Problem()
    keep: list[Tensor] = []
    _describe(p, inputs, keep)
    y = x.new_empty(B, T, H) if lengths is None else x.new_zeros(B, T, H)
    vn = x.new_empty(B, H)
    p.y, p.vn, p.save = y.data_ptr(), vn.data_ptr(), save
    states = None
    if save:
        states = library.empty(x, states_shape(inputs))
        if zeroed and lengths is not None:
            states.zero_()
        p.states = states.data_ptr()
    _call("lt_ltc_forward", p, inputs)
    return Outputs(y, vn, states)


def run_backward(
    inputs: Inputs, states: Tensor, dy: Tensor | None, dvn: Tensor | None, need_dx: bool, need_ddt: bool
) -> Gradients:
    """Run the kernel backward; see `Backend.backward`."""
    x, v0 = inputs.x, inputs.v0
    p = Problem()
    keep: list[Tensor] = []
    _describe(p, inputs, keep)
    check_part("saved", states, states_shape(inputs), x)
    p.states = library.dense_address("saved", states, keep)
    if dy is not None:
        keep.append(dy := library.dense_last("dy", dy))
        p.dy, (p.dy_row, p.dy_step, _) = dy.data_ptr(), dy.stride()
    if dvn is not None:
        p.dvn = library.dense_address("dvn", dvn, keep)
    dx = x.new_zeros(x.shape) if need_dx else None
    ddt = x.new_zeros(inputs.dt.shape) if need_ddt else None
    dv0 = x.new_empty(v0.shape)
    grads = [x.new_empty(value.shape) for value in inputs.parameters]
    p.need_dx, p.need_ddt, p.dv0 = need_dx, need_ddt, dv0.data_ptr()
    p.dx, p.ddt = (None if t is None else t.data_ptr() for t in (dx, ddt))
    for synapses, of in ((p.sensory, grads[:4]), (p.recurrent, grads[4:8])):
        synapses.dw, synapses.dgamma, synapses.dmu, synapses.dE = (grad.data_ptr() for grad in of)
    p.dleak, p.dleak_current, p.dcapacitance = (grad.data_ptr() for grad in grads[8:])
    _call("lt_ltc_backward", p, inputs)
    return Gradients(dx, dv0, ddt, grads)
