"""The kernel's two runs on tensors: fills the structure that crosses the C boundary and makes the calls."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from ctypes import c_double, c_int64, c_void_p
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from liquidtime.ops.cfc_scan.form import ACTIVATIONS, KINDS, MAX_LAYERS, MEMORIES, Form
from liquidtime.ops.native import library

_MATRICES = MAX_LAYERS + 2
_SIZES = ("B", "T", "D", "H", "U", "layers", "heads", "kind", "activation", "head_activation", "memory")
_FLAGS = ("state_amplitude", "threads", "save", "need_dx", "need_ddt")
_STRIDES = ("x_row", "x_step", "dt_row", "dt_step", "dy_row", "dy_step")


class Problem(ctypes.Structure):
    """`CfcProblem` of problem.h, field by field."""

    _fields_ = (
        *((name, c_int64) for name in (*_SIZES, *_FLAGS)),
        ("forget_bias", c_double),
        *((name, c_int64) for name in _STRIDES),
        *((name, c_void_p) for name in ("x", "dt", "h0", "m0", "lengths")),
        ("weight", c_void_p * _MATRICES),
        ("bias", c_void_p * _MATRICES),
        *((name, c_void_p) for name in ("A", "rate", "B_")),
        ("mask", c_void_p * (2 * MAX_LAYERS)),
        *((name, c_void_p) for name in ("packed", "y", "hn", "mn")),
        ("z", c_void_p * MAX_LAYERS),
        ("pre", c_void_p * MAX_LAYERS),
        *((name, c_void_p) for name in ("gates", "lstm_gates", "lstm_o", "lstm_m", "dy")),
        *((name, c_void_p) for name in ("dh0", "dm0", "dx", "ddt")),
        ("dweight", c_void_p * _MATRICES),
        ("dbias", c_void_p * _MATRICES),
        *((name, c_void_p) for name in ("dA", "drate", "dB")),
    )


@functools.cache
def kernel() -> ctypes.CDLL:
    """Return the library with this operation's functions declared, after a check that both sides agree."""
    lib = library.load()
    for name in ("lt_cfc_forward", "lt_cfc_backward"):
        getattr(lib, name).argtypes = [c_void_p, c_int64]
    lib.lt_cfc_packed_size.argtypes = lib.lt_cfc_pack.argtypes = [c_void_p, c_int64]
    lib.lt_cfc_packed_size.restype, lib.lt_cfc_pack.restype = c_int64, None
    lib.lt_cfc_step.argtypes = [c_void_p] + [c_int64] * 3 + [c_void_p] * 4 + [c_double] + [c_void_p] * 3
    lib.lt_cfc_problem_size.restype = c_int64
    if lib.lt_cfc_problem_size() != ctypes.sizeof(Problem):
        raise library.NativeMissingError("the native kernels are of another version of the package. Build them again.")
    return lib


class Inputs(NamedTuple):
    """What a scan is given; `m0` and `masks` are None where the form has none."""

    x: Tensor
    h0: Tensor
    m0: Tensor | None
    dt: Tensor
    lengths: Tensor | None
    weights: Sequence[Tensor]
    masks: Tensor | None


class Saved(NamedTuple):
    """What the backward run needs of the forward one, for at most B·T samples."""

    z: Tensor  # (layers, passes·B·T, Up)
    pre: Tensor  # the same, for activations whose slope needs it
    gates: Tensor  # (B·T, S, Hp) in the kernel's own order
    lstm: Tensor  # (6, B·T, Hp): four gates side by side, o, m


class Sizes(NamedTuple):
    """The padded widths of a scan."""

    Hp: int
    Up: int
    saved: int


def sizes_of(form: Form, H: int, U: int, itemsize: int, need_ddt: bool) -> Sizes:
    """Return the padded widths of a scan with H units and U backbone units."""
    Hp, Up = library.padded(H, itemsize), library.padded(U, itemsize)
    saved = {"cf_s": 2, "cf_s_paper": 3}.get(form.kind, 4 if need_ddt else 3)
    return Sizes(Hp, Up, saved)


def backbone_units(form: Form, weights: Sequence[Tensor]) -> int:
    """Return U, or 0 without a backbone."""
    return weights[0].shape[0] if form.layers else 0


def saved_shapes(form: Form, B: int, T: int, s: Sizes) -> list[tuple[int, ...]]:
    """Return the shapes of what a forward run saves, in the order of `Saved`."""
    N = B * T
    z: tuple[int, ...] = (form.layers, form.passes * N, s.Up)
    pre = z if form.activation in ("silu", "gelu") else (0,)
    lstm = (6, N, s.Hp) if form.memory != "none" else (0,)
    return [z, pre, (N, s.saved, s.Hp), lstm]


def dense_last(t: Tensor) -> Tensor:
    """Return t, or a copy, whose last axis is dense."""
    return t if t.stride(-1) == 1 or t.shape[-1] == 1 else t.contiguous()


def point_to_weights(p: Problem, form: Form, weights: Sequence[Tensor], keep: list[Tensor]) -> None:
    """Fill in the form and the weights; tensors that only the structure points to are put into `keep`."""
    L = form.layers
    p.H, p.U = weights[2 * L].shape[0] // form.heads, backbone_units(form, weights)
    p.layers, p.heads = L, form.heads
    p.kind, p.activation = KINDS.index(form.kind), ACTIVATIONS.index(form.activation)
    p.head_activation, p.memory = ACTIVATIONS.index(form.head_activation), MEMORIES.index(form.memory)
    p.state_amplitude, p.forget_bias = form.state_amplitude, form.forget_bias

    def pointer(t: Tensor) -> int:
        keep.append(t := t.contiguous())
        return t.data_ptr()

    for index in range(L + 1):
        p.weight[index], p.bias[index] = pointer(weights[2 * index]), pointer(weights[2 * index + 1])
    if form.memory != "none":
        p.weight[L + 1], p.bias[L + 1] = pointer(weights[-2]), pointer(weights[-1])
    for name, vector in zip(("A", "rate", "B_"), weights[2 * L + 2 : 2 * L + 2 + form.vectors], strict=False):
        setattr(p, name, pointer(vector))


def _describe(p: Problem, form: Form, inputs: Inputs, keep: list[Tensor]) -> None:
    """Fill in what both runs share; tensors that only the structure points to are put into `keep`."""
    x, h0, m0, dt, lengths, weights, masks = inputs
    L, U = form.layers, backbone_units(form, weights)
    p.B, p.T, p.D = x.shape
    p.threads = torch.get_num_threads()
    point_to_weights(p, form, weights, keep)

    def pointer(t: Tensor) -> int:
        keep.append(t)
        return t.data_ptr()

    x = dense_last(x)
    p.x, (p.x_row, p.x_step, _) = pointer(x), x.stride()
    p.dt, (p.dt_row, p.dt_step) = pointer(dt), dt.stride()
    p.h0 = pointer(h0.contiguous())
    if m0 is not None:
        p.m0 = pointer(m0.contiguous())
    if lengths is not None:
        p.lengths = pointer(lengths.contiguous())
    if masks is not None:
        Up = library.padded(U, x.element_size())
        padded = iter((masks if Up == U else F.pad(masks, (0, Up - U))).contiguous())
        for place in range(form.passes * L):
            if form.masked[place % L]:
                p.mask[place] = pointer(next(padded))


def pack(p: Problem, like: Tensor) -> Tensor:
    """Pack the weights once for several forward runs; the structure points into the tensor that is returned."""
    wide = int(like.dtype is torch.float64)
    size = kernel().lt_cfc_packed_size(ctypes.addressof(p), wide)
    packed = torch.empty(size + 64, dtype=torch.uint8)
    p.packed = -(-packed.data_ptr() // 64) * 64
    kernel().lt_cfc_pack(ctypes.addressof(p), wide)
    return packed


def _saved_pointers(p: Problem, form: Form, saved: Saved) -> None:
    for layer in range(form.layers):
        p.z[layer] = saved.z[layer].data_ptr()
        if saved.pre.dim() == 3:
            p.pre[layer] = saved.pre[layer].data_ptr()
    p.gates = saved.gates.data_ptr()
    if form.memory != "none":
        p.lstm_gates, p.lstm_o, p.lstm_m = (saved.lstm[index].data_ptr() for index in (0, 4, 5))


def _call(function: str, p: Problem, dtype: torch.dtype) -> None:
    if getattr(kernel(), function)(ctypes.addressof(p), int(dtype is torch.float64)):
        raise MemoryError("the native scan could not get its working memory")


def run_forward(
    form: Form, inputs: Inputs, save: bool, need_ddt: bool, zeroed: bool = False
) -> tuple[Tensor, Tensor, Tensor | None, Saved | None]:
    """Run the kernel forward.

    Args:
        form: of the scan.
        inputs: of the scan.
        save: whether a backward run will follow.
        need_ddt: whether it will want the gradient of dt.
        zeroed: whether what is saved are tensors like any other, for an operator that returns them, with 0 in their
            unused end in a ragged batch.

    Returns:
        (B, T, H) outputs, (B, H) last state, the last memory where there is one, and, with `save`, what the backward
        run needs.

    """
    x, h0 = inputs.x, inputs.h0
    B, T, D = x.shape
    H = h0.shape[1]
    p = Problem()
    keep: list[Tensor] = []
    _describe(p, form, inputs, keep)
    p.save, p.need_ddt = save, need_ddt
    y = library.empty(x, (B, T, H))
    if inputs.lengths is not None:
        y.zero_()
    hn = x.new_empty(B, H)
    mn = None if inputs.m0 is None else x.new_empty(B, H)
    p.y, p.hn, p.mn = y.data_ptr(), hn.data_ptr(), None if mn is None else mn.data_ptr()
    saved = None
    if save:
        s = sizes_of(form, H, p.U, x.element_size(), need_ddt)
        new = library.empty if zeroed else library.borrowed
        saved = Saved(*(new(x, shape) for shape in saved_shapes(form, B, T, s)))
        if zeroed and inputs.lengths is not None:
            for part in saved:
                part.zero_()
        _saved_pointers(p, form, saved)
    _call("lt_cfc_forward", p, x.dtype)
    return y, hn, mn, saved


class Gradients(NamedTuple):
    """What a backward run gives; None where it was not asked for."""

    x: Tensor | None
    h0: Tensor
    m0: Tensor | None
    dt: Tensor | None
    weights: list[Tensor]


def run_backward(
    form: Form,
    inputs: Inputs,
    y: Tensor,
    saved: Saved,
    incoming: tuple[Tensor | None, Tensor | None, Tensor | None],
    need_dx: bool,
    need_ddt: bool,
) -> Gradients:
    """Run the kernel backward.

    Args:
        form: of the scan.
        inputs: of the forward run.
        y: what it gave.
        saved: what it saved.
        incoming: the gradients of y, of the last state and of the last memory; None is 0.
        need_dx: whether the gradient of x is wanted.
        need_ddt: whether that of dt is; the forward run must have known.

    """
    x, h0, weights = inputs.x, inputs.h0, inputs.weights
    B, T, D = x.shape
    p = Problem()
    keep: list[Tensor] = []
    _describe(p, form, inputs, keep)
    saves_a = saved.gates.shape[1] == 4
    p.need_dx, p.need_ddt = need_dx, need_ddt or saves_a
    _saved_pointers(p, form, saved)
    p.y = y.data_ptr()
    dy, dhn, dmn = incoming
    if dy is not None:
        dy = dense_last(dy)
        p.dy, (p.dy_row, p.dy_step, _) = dy.data_ptr(), dy.stride()
    dh0 = torch.zeros_like(h0, memory_format=torch.contiguous_format)
    dh0 = dh0 if dhn is None else dh0.copy_(dhn)
    dm0 = None if inputs.m0 is None else torch.zeros_like(dh0) if dmn is None else dmn.clone().contiguous()
    dx = library.empty(x, (B, T, D)) if need_dx else None
    ddt = x.new_empty(B, T) if p.need_ddt else None
    if inputs.lengths is not None:
        for part in (dx, ddt):
            if part is not None:
                part.zero_()
    p.dx, p.ddt, p.dh0, p.dm0 = (None if t is None else t.data_ptr() for t in (dx, ddt, dh0, dm0))
    grads = _point_to_gradients(p, form, x, weights)
    _call("lt_cfc_backward", p, x.dtype)
    return Gradients(dx, dh0, dm0, ddt if need_ddt else None, grads)


def _point_to_gradients(p: Problem, form: Form, like: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    """Return room for the gradients of the weights, in one piece of memory; the structure points into it."""
    sizes = [w.numel() for w in weights]
    room = like.new_empty(sum(sizes))
    grads = [part.view(w.shape) for part, w in zip(room.split(sizes), weights, strict=True)]
    L = form.layers
    for index in range(L + 1):
        p.dweight[index], p.dbias[index] = grads[2 * index].data_ptr(), grads[2 * index + 1].data_ptr()
    if form.memory != "none":
        p.dweight[L + 1], p.dbias[L + 1] = grads[-2].data_ptr(), grads[-1].data_ptr()
    for name, vector in zip(("dA", "drate", "dB"), grads[2 * L + 2 : 2 * L + 2 + form.vectors], strict=False):
        setattr(p, name, vector.data_ptr())
    return grads
