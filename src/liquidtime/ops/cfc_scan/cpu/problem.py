"""The structure that crosses the C boundary, the memory that it points to, and its size."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from ctypes import c_char_p, c_double, c_int64, c_void_p
from typing import NamedTuple

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.form import ACTIVATIONS, KINDS, MAX_LAYERS, MEMORIES, Form
from liquidtime.ops.native import library

_MATRICES = MAX_LAYERS + 2
_SIZES = ("B", "T", "D", "H", "U", "layers", "heads", "kind", "activation", "head_activation", "memory")
_FLAGS = ("state_amplitude", "threads", "save", "need_dx", "need_ddt", "bf16")
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
        *((name, c_void_p) for name in ("gates", "lstm_gates", "lstm_o", "lstm_m", "division", "dy")),
        *((name, c_void_p) for name in ("dhn", "dmn", "dh0", "dm0", "dx", "ddt")),
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
    lib.lt_cfc_packed_size.restype = c_int64
    lib.lt_cfc_point.argtypes = [c_void_p, c_char_p, c_int64]
    lib.lt_cfc_problem_size.restype = c_int64
    if lib.lt_cfc_problem_size() != ctypes.sizeof(Problem):
        raise library.NativeMissingError("the native kernels are of another version of the package. Build them again.")
    return lib


def backbone_units(form: Form, weights: Sequence[Tensor]) -> int:
    """Return U, or 0 without a backbone."""
    return weights[0].shape[0] if form.layers else 0


class Kept(NamedTuple):
    """How many numbers of each kind a forward run keeps for the backward run, for at most B·T samples."""

    z: int  # of each layer, passes·B·T·Up
    pre: int  # the same for activations whose derivative needs it, otherwise 0
    gates: int  # B·T·S·Hp in the kernel's own order, S values per unit
    lstm: int  # of the memory: a sixth of four gates side by side, o and m
    division: int  # the eight bytes that say how the batch was divided

    def total(self, layers: int) -> int:
        """Return how many numbers there are together."""
        return layers * (self.z + self.pre) + self.gates + 6 * self.lstm + self.division


def kept_by(form: Form, B: int, T: int, H: int, U: int, itemsize: int, need_ddt: bool) -> Kept:
    """Return what a forward run over (B, T) samples keeps, with H units and U backbone units."""
    N, Hp = B * T, library.padded(H, itemsize)
    z = form.passes * N * library.padded(U, itemsize) if form.layers else 0
    values = {"cf_s": 2, "cf_s_paper": 3}.get(form.kind, 4 if need_ddt else 3)
    pre, lstm = z if form.activation in ("silu", "gelu") else 0, N * Hp if form.remembers else 0
    return Kept(z, pre, N * values * Hp, lstm, 8 // itemsize)


def point_to_kept(p: Problem, form: Form, kept: Kept, at: int, item: int) -> None:
    """Point the structure to memory at an address with room for the kept numbers, each of `item` bytes."""
    for layer in range(form.layers):
        p.z[layer] = at
        at += kept.z * item
        if kept.pre:
            p.pre[layer] = at
            at += kept.pre * item
    p.gates = at
    at += kept.gates * item
    if kept.lstm:
        p.lstm_gates, p.lstm_o, p.lstm_m = at, at + 4 * kept.lstm * item, at + 5 * kept.lstm * item
    p.division = at + 6 * kept.lstm * item


@functools.lru_cache(maxsize=100)
def _of_form(form: Form) -> bytes:
    p = Problem()
    p.layers, p.heads = form.layers, form.heads
    p.kind, p.activation = KINDS.index(form.kind), ACTIVATIONS.index(form.activation)
    p.head_activation, p.memory = ACTIVATIONS.index(form.head_activation), MEMORIES.index(form.memory)
    p.state_amplitude, p.forget_bias = form.state_amplitude, form.forget_bias
    if form.products == "bf16":
        library.bf16_unit()  # it warns if the instruction cannot be trusted
        p.bf16 = True
    return bytes(p)


def of_form(form: Form) -> Problem:
    """Return a structure with the form and nothing else."""
    return Problem.from_buffer_copy(_of_form(form))


@functools.lru_cache(maxsize=100)
def takes(form: Form, dtype: torch.dtype) -> bool:
    """Return whether the kernels support a form in a type."""
    return form.fault() is None and (dtype is torch.float32 or (dtype is torch.float64 and form.products != "bf16"))


def described(form: Form, weights: Sequence[Tensor], keep: list[Tensor]) -> Problem:
    """Return a structure with the form and the weights; tensors to which only it points are added to `keep`."""
    p = of_form(form)
    p.H, p.U = weights[2 * form.layers].shape[0] // form.heads, backbone_units(form, weights)
    addresses = library.dense_addresses(("weights",), weights, keep)
    _point(p.weight, p.bias, p, ("A", "rate", "B_"), form, addresses)
    return p


def point_to_gradients(p: Problem, form: Form, weights: Sequence[Tensor]) -> list[Tensor]:
    """Allocate the gradients of the weights, point the structure to them and return them."""
    grads = [torch.empty_like(w, memory_format=torch.contiguous_format) for w in weights]
    _point(p.dweight, p.dbias, p, ("dA", "drate", "dB"), form, [grad.data_ptr() for grad in grads])
    return grads


def _point(
    matrices: ctypes.Array[c_void_p],
    biases: ctypes.Array[c_void_p],
    p: Problem,
    vectors: tuple[str, ...],
    form: Form,
    addresses: list[int],
) -> None:
    for index in range(form.layers + 1):
        matrices[index], biases[index] = addresses[2 * index], addresses[2 * index + 1]
    first = 2 * form.layers + 2
    for name, address in zip(vectors, addresses[first : first + form.vectors], strict=False):
        setattr(p, name, address)
    if form.remembers:
        matrices[form.layers + 1], biases[form.layers + 1] = addresses[-2], addresses[-1]


def pack(p: Problem, form: Form, like: Tensor) -> Tensor:
    """Pack the weights once for several forward runs; the structure points into the returned tensor."""
    wide = int(like.dtype is torch.float64)
    size = kernel().lt_cfc_packed_size(ctypes.addressof(p), wide)
    packed = torch.empty(size + 64, dtype=torch.uint8)
    p.packed = -(-packed.data_ptr() // 64) * 64
    if not size or kernel().lt_cfc_pack(ctypes.addressof(p), wide):
        raise RuntimeError(f"the native kernel refused the weights of {form}")
    return packed
