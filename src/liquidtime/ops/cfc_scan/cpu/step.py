"""Single samples: weights are packed once and compared with their sources each time, in one call for a whole stack."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from ctypes import c_int64, c_void_p

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.backend import Stepper, check_weights
from liquidtime.ops.cfc_scan.cpu.problem import Problem, kernel, pack, point_to_weights
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.dispatch import runs_unwatched
from liquidtime.ops.native import library

_pack = struct.Struct("=QQqqqqQQQQdQQQ").pack  # `CfcStep` of problem.h; one argument instead of twelve is a microsecond


class _Source(ctypes.Structure):
    """`CfcSource` of problem.h, field by field."""

    _fields_ = (("now", c_void_p), ("then", c_void_p), ("bytes", c_int64))


class CpuStepper(Stepper):
    """A stack of cells of one form and width, its weights packed. It never changes, so threads may share it."""

    def __init__(
        self, form: Form, weights: Sequence[Sequence[Tensor]], inputs: Sequence[int], sources: Sequence[Tensor]
    ) -> None:
        first = weights[0][0]
        self._generation = library.generation()
        self._sources = [(t, library.address("weights", t), t.shape, t.untyped_storage().nbytes()) for t in sources]
        then = [t.detach().clone() for t in sources]  # before the weights are read: what changes later is seen
        self._compared = (_Source * len(then))(
            *(_Source(t.data_ptr(), copy.data_ptr(), copy.nbytes) for t, copy in zip(sources, then, strict=True))
        )
        self._keep: list[Tensor] = then
        self._problems = []
        for layer, D in zip(weights, inputs, strict=True):
            p = Problem()
            point_to_weights(p, form, [w.detach() for w in layer], self._keep)
            p.D = D
            self._keep.append(pack(p, form, first))
            self._problems.append(p)
        self._dtype, self._wide = first.dtype, int(first.dtype is torch.float64)
        self._D, self._H, self._layers = inputs[0], int(self._problems[0].H), len(self._problems)
        self._remembers = form.remembers
        self._pointers = (c_void_p * self._layers)(*(ctypes.addressof(p) for p in self._problems))
        self._addresses = ctypes.addressof(self._pointers), ctypes.addressof(self._compared)
        self._run = kernel().lt_cfc_step

    @classmethod
    def of(cls, form: Form, weights: Sequence[Sequence[Tensor]], sources: Sequence[Tensor]) -> CpuStepper | None:
        """Return what takes single samples; None where the layers do not fit or sources are not dense."""
        if not all(t.is_contiguous() and not t.is_neg() and t.dtype is weights[0][0].dtype for t in sources):
            return None
        H = weights[0][2 * form.layers].shape[0] // form.heads
        inputs = [(layer[-2] if form.remembers else layer[0]).shape[-1] - H for layer in weights]
        if inputs[0] < 1 or any(width != H for width in inputs[1:]):
            return None
        try:
            for layer, width in zip(weights, inputs, strict=True):
                check_weights(form, layer, width, H, layer[0])
        except (TypeError, ValueError):
            return None  # the plain step says what does not fit
        return cls(form, weights, inputs, sources)

    def _has_same_sources(self) -> bool:
        for tensor, pointer, shape, size in self._sources:
            if tensor.data_ptr() != pointer or tensor.shape != shape or not tensor.is_contiguous():
                return False
            if tensor.is_neg() or tensor.dtype is not self._dtype or tensor.untyped_storage().nbytes() != size:
                return False
        return True

    def step(
        self, x: Tensor, h: Tensor | None, m: Tensor | None, dt: Tensor | float
    ) -> tuple[Tensor, Tensor, Tensor | None] | None:
        """Take one sample; see `Stepper.step`."""
        if not runs_unwatched() or not self._has_same_sources() or library.generation() != self._generation:
            return None
        B, H, layers = x.shape[0], self._H, self._layers
        if h is None:
            h = x.new_zeros(layers, B, H)
            m = h if self._remembers else None
        keep: list[Tensor] = []
        hn = x.new_empty(layers, B, H)
        y = x.new_empty(B, H)
        mn = None if m is None else x.new_empty(layers, B, H)
        number = type(dt) is float
        code = self._run(
            _pack(
                *self._addresses,
                layers,
                len(self._sources),
                self._wide,
                B,
                library.dense_address("x", x, keep),
                library.dense_address("h", h, keep),
                0 if m is None else library.dense_address("h", m, keep),
                0 if number else library.dense_address("dt", dt, keep),  # type: ignore[arg-type]
                dt if number else 0.0,
                y.data_ptr(),
                hn.data_ptr(),
                0 if mn is None else mn.data_ptr(),
            )
        )
        if code in (library.STALE, library.BAD_INTERVAL):
            return None
        library.raise_for(code, x, None)
        return y, hn, mn
