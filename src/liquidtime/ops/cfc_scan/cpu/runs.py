"""The kernel's two runs on tensors."""

from __future__ import annotations

import ctypes

import torch
import torch.nn.functional as F
from torch import Tensor

from liquidtime.ops.cfc_scan.backend import Gradients, Inputs, Outputs, Wanted
from liquidtime.ops.cfc_scan.cpu.problem import (
    Problem,
    backbone_units,
    described,
    kept_by,
    kernel,
    point_to_gradients,
    point_to_kept,
)
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.native import library
from liquidtime.ops.shapes import check_part


def _describe(form: Form, inputs: Inputs, keep: list[Tensor]) -> Problem:
    """Return what both runs share; tensors that only the structure points to are put into `keep`."""
    x, h0, m0, dt, lengths, weights, masks = inputs
    p = described(form, weights, keep)
    p.B, p.T, p.D = x.shape
    p.threads = torch.get_num_threads()

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
    x, h0 = inputs.x, inputs.h0
    B, T, _ = x.shape
    H = h0.shape[1]
    keep: list[Tensor] = []
    p = _describe(form, inputs, keep)
    p.save, p.need_ddt = save, need_ddt
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
    keep: list[Tensor] = []
    p = _describe(form, inputs, keep)
    p.need_dx, p.need_ddt = wanted.x, wanted.dt
    kept = kept_by(form, B, T, h0.shape[1], p.U, x.element_size(), wanted.dt)
    check_part("saved", saved, (kept.total(form.layers),), x)
    at, p.y = library.dense_addresses(("saved", "y"), (saved, y), keep)
    point_to_kept(p, form, kept, at, saved.element_size())
    dy, dhn, dmn = incoming
    if dy is not None:
        keep.append(dy := library.dense_last("dy", dy))
        p.dy, (p.dy_row, p.dy_step, _) = dy.data_ptr(), dy.stride()
    if dhn is not None:
        p.dhn = library.dense_address("dhn", dhn, keep)
    if dmn is not None:
        p.dmn = library.dense_address("dmn", dmn, keep)
    dx = library.empty(x, (B, T, D)) if wanted.x else None
    ddt = x.new_empty(B, T) if wanted.dt else None
    if inputs.lengths is not None:
        for part in (dx, ddt):
            if part is not None:
                part.zero_()
    dh0 = x.new_empty(h0.shape) if wanted.state else None
    dm0 = x.new_empty(h0.shape) if wanted.state and m0 is not None else None
    p.dx, p.ddt, p.dh0, p.dm0 = (None if t is None else t.data_ptr() for t in (dx, ddt, dh0, dm0))
    grads = point_to_gradients(p, form, inputs.weights)
    code = kernel().lt_cfc_backward(ctypes.addressof(p), int(x.dtype is torch.float64))
    library.raise_for(code, inputs.dt, inputs.lengths)
    return Gradients(dx, dh0, dm0, ddt, grads)
