"""The kernel's two runs on tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.cfc_scan.problem import (
    BAD_INTERVAL,
    Problem,
    backbone_units,
    kept_by,
    kernel,
    point_to_gradients,
    point_to_kept,
    point_to_weights,
)
from liquidtime.ops.native import library


class BadIntervalError(ValueError):
    """An interval is negative, NaN or infinite."""


class Inputs(NamedTuple):
    """What a scan is given; `m0` and `masks` are None where the form has none."""

    x: Tensor
    h0: Tensor
    m0: Tensor | None
    dt: Tensor
    lengths: Tensor | None
    weights: Sequence[Tensor]
    masks: Tensor | None


def dense_last(t: Tensor) -> Tensor:
    """Return t, or a copy, whose last axis is dense."""
    return t if t.stride(-1) == 1 or t.shape[-1] == 1 else t.contiguous()


def _describe(p: Problem, form: Form, inputs: Inputs, keep: list[Tensor]) -> None:
    """Fill in what both runs share; tensors that only the structure points to are put into `keep`."""
    x, h0, m0, dt, lengths, weights, masks = inputs
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
        L, U = form.layers, backbone_units(form, weights)
        Up = library.padded(U, x.element_size())
        padded = iter((masks if Up == U else F.pad(masks, (0, Up - U))).contiguous())
        for place in range(form.passes * L):
            if form.masked[place % L]:
                p.mask[place] = pointer(next(padded))


def run_forward(
    form: Form, inputs: Inputs, save: bool, need_ddt: bool, *, zeroed: bool = False, check: bool = False
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Run the kernel forward.

    Args:
        form: of the scan.
        inputs: of the scan.
        save: whether a backward run will follow.
        need_ddt: whether it will want the gradient of dt.
        zeroed: whether what is saved is a tensor like any other, for an operator that returns it, with 0 where a ragged
            batch leaves it unused.
        check: whether the intervals are looked at.

    Returns:
        (B, T, H) outputs, (B, H) last state, the last memory where there is one, and, with `save`, what the backward
        run needs.

    Raises:
        BadIntervalError: with `check`.
        MemoryError: there is none to work with.

    """
    x, h0 = inputs.x, inputs.h0
    B, T, _ = x.shape
    H = h0.shape[1]
    p = Problem()
    keep: list[Tensor] = []
    _describe(p, form, inputs, keep)
    p.save, p.need_ddt, p.check = save, need_ddt, check
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
        point_to_kept(p, form, kept, saved)
    code = kernel().lt_cfc_forward(ctypes.addressof(p), int(x.dtype is torch.float64))
    if code == BAD_INTERVAL:
        raise BadIntervalError
    if code:
        raise MemoryError("the native scan could not get its working memory")
    return y, hn, mn, saved


class Gradients(NamedTuple):
    """What a backward run gives; None where it was not asked for."""

    x: Tensor | None
    h0: Tensor | None
    m0: Tensor | None
    dt: Tensor | None
    weights: list[Tensor]


class Wanted(NamedTuple):
    """Which gradients beside the weights' are wanted; that of dt only where the forward run knew."""

    x: bool
    state: bool
    dt: bool


def run_backward(
    form: Form,
    inputs: Inputs,
    y: Tensor,
    saved: Tensor,
    incoming: tuple[Tensor | None, Tensor | None, Tensor | None],
    wanted: Wanted,
) -> Gradients:
    """Run the kernel backward.

    Args:
        form: of the scan.
        inputs: of the forward run.
        y: what it gave.
        saved: what it saved.
        incoming: the gradients of y, of the last state and of the last memory; None is 0.
        wanted: which gradients to give.

    Raises:
        MemoryError: there is none to work with.

    """
    x, h0, m0 = inputs.x, inputs.h0, inputs.m0
    B, T, D = x.shape
    p = Problem()
    keep: list[Tensor] = []
    _describe(p, form, inputs, keep)
    p.need_dx, p.need_ddt = wanted.x, wanted.dt
    point_to_kept(p, form, kept_by(form, B, T, h0.shape[1], p.U, x.element_size(), wanted.dt), saved)
    p.y = y.data_ptr()
    dy, dhn, dmn = incoming
    if dy is not None:
        keep.append(dy := dense_last(dy))
        p.dy, (p.dy_row, p.dy_step, _) = dy.data_ptr(), dy.stride()
    if dhn is not None:
        keep.append(dhn := dhn.contiguous())
        p.dhn = dhn.data_ptr()
    if dmn is not None:
        keep.append(dmn := dmn.contiguous())
        p.dmn = dmn.data_ptr()
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
    if kernel().lt_cfc_backward(ctypes.addressof(p), int(x.dtype is torch.float64)):
        raise MemoryError("the native scan could not get its working memory")
    return Gradients(dx, dh0, dm0, ddt, grads)
