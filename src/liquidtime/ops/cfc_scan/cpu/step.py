"""Single samples: weights are packed once and compared with their sources each time, in one call for a whole stack."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from ctypes import c_int64, c_void_p

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.backend import Stepper, check_weights
from liquidtime.ops.cfc_scan.cpu.problem import described, kernel, pack
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.dispatch import runs_unwatched
from liquidtime.ops.native import library
from liquidtime.ops.storage import check_stored

_pack = struct.Struct("=QQqqqqQQQQdQQQ").pack  # `CfcStep` of problem.h; one argument instead of twelve is a microsecond


_NAMES, _WITH_MEMORY = ("x", "h", "dt"), ("x", "h", "h", "dt")


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
        for source in sources:
            check_stored("weights", source)
        self._sources, self._fingerprint = list(sources), library.fingerprint(sources)
        then = [t.detach().clone() for t in sources]  # before the weights are read: what changes later is seen
        self._compared = (_Source * len(then))(
            *(_Source(t.data_ptr(), copy.data_ptr(), copy.nbytes) for t, copy in zip(sources, then, strict=True))
        )
        self._keep: list[Tensor] = then
        self._problems = []
        for layer, D in zip(weights, inputs, strict=True):
            p = described(form, [w.detach() for w in layer], self._keep)
            p.D = D
            self._keep.append(pack(p, form, first))
            self._problems.append(p)
        self._wide = int(first.dtype is torch.float64)
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

    def step(
        self, x: Tensor, h: Tensor | None, m: Tensor | None, dt: Tensor | float
    ) -> tuple[Tensor, Tensor, Tensor | None] | None:
        """Take one sample; see `Stepper.step`."""
        if not runs_unwatched() or library.generation() != self._generation:
            return None
        if library.fingerprint(self._sources) != self._fingerprint:
            return None
        B, H, layers = x.shape[0], self._H, self._layers
        if h is None:
            h = x.new_zeros(layers, B, H)
            m = h if self._remembers else None
        number = type(dt) is float
        inputs = [x, h]
        if m is not None:
            inputs.append(m)
        if not number:
            inputs.append(dt)  # type: ignore[arg-type]
        keep: list[Tensor] = []
        pointers = library.dense_addresses(_NAMES if m is None else _WITH_MEMORY, inputs, keep)
        hn = x.new_empty(layers, B, H)
        y = x.new_empty(B, H)
        mn = None if m is None else x.new_empty(layers, B, H)
        code = self._run(
            _pack(
                *self._addresses,
                layers,
                len(self._sources),
                self._wide,
                B,
                pointers[0],
                pointers[1],
                0 if m is None else pointers[2],
                0 if number else pointers[-1],
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
