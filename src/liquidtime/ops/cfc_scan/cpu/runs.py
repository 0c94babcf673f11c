"""The forward and the backward run of the kernel on tensors."""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from liquidtime.ops.cfc_scan.backend import CHANGED, Gradients, Inputs, Outputs, Seen, Sizes, Wanted, check_inputs
from liquidtime.ops.cfc_scan.cpu.problem import (
    Problem,
    backbone_units,
    described,
    kept_by,
    kernel,
    of_form,
    point_to_gradients,
    point_to_kept,
    takes,
)
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.native import library
from liquidtime.ops.shapes import check_part

_address, _is_negated = operator.attrgetter("_cdata"), Tensor.is_neg


def _point(
    p: Problem, form: Form, inputs: Inputs, later: Sequence[Tensor | None], count: int, keep: list[Tensor]
) -> bool:
    """Return whether the tensors of a run fit as they are; if they do, fill in the structure.

    Args:
        p: structure with the form.
        form: form of the scan.
        inputs: inputs of the scan.
        later: for a backward run: y, the saved data, and the gradients of y, the last state and the last memory.
        count: how many saved numbers there must be.
        keep: receives the objects that must live as long as the structure is used.

    """
    x, h0, m0, dt, lengths, weights, masks = inputs
    if lengths is not None or masks is not None or len(weights) != form.tensors or not library.sees_tensors():
        return False
    if not h0.is_contiguous():  # for example the state of some of the neurons
        keep.append(h0 := library.settled("h0", h0).contiguous())
    first: list[Tensor | None] = [x, dt, h0, m0, *later]
    if any(map(_is_negated, [tensor for tensor in (*first, *weights) if tensor is not None])):
        return False
    places = [0 if tensor is None else tensor._cdata for tensor in first] + [0] * (9 - len(first))
    tensors = struct.pack(f"=9Qq{form.tensors}Q", *places, count, *map(_address, weights))  # `CfcTensors` of problem.h
    return not kernel().lt_cfc_point(ctypes.addressof(p), tensors, int(x.dtype is torch.float64))


class CpuSeen(Seen):
    """A structure that describes a run, with the objects that must live as long as it is used."""

    def __init__(self, problem: Problem, form: Form, inputs: Inputs, keep: list[Tensor]) -> None:
        self._problem, self._form, self._inputs, self._keep = problem, form, inputs, keep

    @classmethod
    def of(cls, form: Form, inputs: Inputs) -> CpuSeen | None:
        """Return the inspected run, or None if the kernels cannot use the tensors as they are."""
        if not takes(form, inputs.x.dtype):
            return None
        problem, keep = of_form(form), list[Tensor]()
        return cls(problem, form, inputs, keep) if _point(problem, form, inputs, (), 0, keep) else None

    @property
    def sizes(self) -> Sizes:
        """The sizes of the inputs."""
        p = self._problem
        return Sizes(p.B, p.T, p.D, p.H, p.U, self._inputs.x.dtype)

    def forward(self, save: bool, need_ddt: bool) -> Outputs:
        """Run forward; see `Seen.forward`."""
        return _run(self._problem, self._form, self._inputs, save, need_ddt, False)


def _describe(form: Form, inputs: Inputs, keep: list[Tensor]) -> Problem:
    """Return the part that both runs share; tensors to which only the structure points are added to `keep`."""
    x, h0, m0, dt, lengths, weights, masks = inputs
    p = described(form, weights, keep)
    p.B, p.T, p.D = x.shape
    keep += (x := library.dense_last("x", x), dt := library.settled("dt", dt))
    p.x, (p.x_row, p.x_step, _) = x.data_ptr(), x.stride()
    p.dt, (p.dt_row, p.dt_step) = dt.data_ptr(), dt.stride()
    state = library.dense_addresses(("h0", "m0"), (h0,) if m0 is None else (h0, m0), keep)
    p.h0, p.m0 = state[0], None if m0 is None else state[1]
    if lengths is not None:
        p.lengths = library.dense_address("lengths", lengths, keep)
    if masks is not None:
        L, U = form.layers, backbone_units(form, weights)
        Up = library.padded(U, x.element_size())
        masks = library.settled("masks", masks)
        padded = iter((masks if Up == U else F.pad(masks, (0, Up - U))).contiguous())
        for index in range(form.passes * L):
            if form.masked[index % L]:
                p.mask[index] = library.dense_address("masks", next(padded), keep)
    return p


def run_forward(form: Form, inputs: Inputs, save: bool, need_ddt: bool, zeroed: bool) -> Outputs:
    """Run the kernel forward; see `Backend.forward`."""
    keep: list[Tensor] = []
    p = of_form(form)
    if not _point(p, form, inputs, (), 0, keep):
        p = _describe(form, inputs, keep)
    return _run(p, form, inputs, save, need_ddt, zeroed)


def _run(p: Problem, form: Form, inputs: Inputs, save: bool, need_ddt: bool, zeroed: bool) -> Outputs:
    x, B, T, H = inputs.x, p.B, p.T, p.H
    p.threads, p.save, p.need_ddt = torch.get_num_threads(), save, need_ddt
    y = library.empty(x, (B, T, H))
    if inputs.lengths is not None:
        y.zero_()
    hn = x.new_empty(B, H)
    mn = None if inputs.m0 is None else x.new_empty(B, H)
    p.y, p.hn, p.mn = y.data_ptr(), hn.data_ptr(), None if mn is None else mn.data_ptr()
    saved = None
    if save:
        kept = kept_by(form, B, T, H, p.U, x.element_size(), need_ddt)
        saved = (library.empty if zeroed else library.borrowed)(x, (kept.total(form.layers),))
        if zeroed and inputs.lengths is not None:
            saved.zero_()
        point_to_kept(p, form, kept, saved.data_ptr(), saved.element_size())
    code = kernel().lt_cfc_forward(ctypes.addressof(p), int(x.dtype is torch.float64))
    library.raise_for(code, inputs.dt, inputs.lengths)
    return Outputs(y, hn, mn, saved)


def _describe_backward(
    form: Form,
    inputs: Inputs,
    y: Tensor,
    saved: Tensor,
    incoming: tuple[Tensor | None, Tensor | None, Tensor | None],
    count: int,
    keep: list[Tensor],
) -> Problem:
    """Return the same structure, with the additional inputs of a backward run, as `_point` fills it in."""
    p = _describe(form, inputs, keep)
    check_part("saved", saved, (count,), inputs.x)
    p.gates, p.y = library.dense_addresses(("saved", "y"), (saved, y), keep)
    dy, dhn, dmn = incoming
    if dy is not None:
        keep.append(dy := library.dense_last("dy", dy))
        p.dy, (p.dy_row, p.dy_step, _) = dy.data_ptr(), dy.stride()
    if dhn is not None:
        p.dhn = library.dense_address("dhn", dhn, keep)
    if dmn is not None:
        p.dmn = library.dense_address("dmn", dmn, keep)
    return p


def run_backward(
    form: Form,
    inputs: Inputs,
    y: Tensor,
    saved: Tensor,
    incoming: tuple[Tensor | None, Tensor | None, Tensor | None],
    wanted: Wanted,
) -> Gradients:
    """Run the kernel backward; see `Backend.backward`."""
    x, h0, m0 = inputs.x, inputs.h0, inputs.m0
    B, T, D = x.shape
    kept = kept_by(form, B, T, h0.shape[1], backbone_units(form, inputs.weights), x.element_size(), wanted.dt)
    count = kept.total(form.layers)
    dy = incoming[0]
    if dy is not None and dy.stride(-1) != 1:  # such as the gradient of a sum
        incoming = library.dense_last("dy", dy), *incoming[1:]
    keep: list[Tensor] = []
    p = of_form(form)
    if not _point(p, form, inputs, (y, saved, *incoming), count, keep):
        try:  # these checks are otherwise part of inspecting the tensors
            check_inputs(form, inputs)
            check_part("y", y, (B, T, h0.shape[1]), x)
        except (TypeError, ValueError):
            raise ValueError(CHANGED) from None
        p = _describe_backward(form, inputs, y, saved, incoming, count, keep)
    p.threads, p.need_dx, p.need_ddt = torch.get_num_threads(), wanted.x, wanted.dt
    point_to_kept(p, form, kept, p.gates or 0, saved.element_size())
    dx = library.empty(x, (B, T, D)) if wanted.x else None
    ddt = x.new_empty(B, T) if wanted.dt else None
    if inputs.lengths is not None:
        for part in (dx, ddt):
            if part is not None:
                part.zero_()
    dh0 = x.new_empty(B, h0.shape[1]) if wanted.state else None
    dm0 = x.new_empty(B, h0.shape[1]) if wanted.state and m0 is not None else None
    p.dx, p.ddt, p.dh0, p.dm0 = (None if t is None else t.data_ptr() for t in (dx, ddt, dh0, dm0))
    grads = point_to_gradients(p, form, inputs.weights)
    code = kernel().lt_cfc_backward(ctypes.addressof(p), int(x.dtype is torch.float64))
    library.raise_for(code, inputs.dt, inputs.lengths)
    return Gradients(dx, dh0, dm0, ddt, grads)
