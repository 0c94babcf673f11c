"""Single samples: weights are packed once and compared with their sources every time, in one call per stack."""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Sequence
from ctypes import c_char_p, c_int64, c_void_p

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.backend import FrozenStepper, Stepper, check_weights
from liquidtime.ops.cfc_scan.cpu.problem import described, kernel, pack
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.native import library
from liquidtime.ops.storage import check_stored

_HELD = 1 << 20  # up to this many bytes of weights other Python threads wait: switching to them takes longer
_AXES = 4  # `source_axes` of problem.h
_address, _is_negated = operator.attrgetter("_cdata"), Tensor.is_neg


class _Source(ctypes.Structure):
    """`CfcSource` of problem.h, field by field."""

    _fields_ = (("then", c_void_p), ("bytes", c_int64), ("dim", c_int64), ("sizes", c_int64 * _AXES))


class CpuStepper(Stepper):
    """A stack of cells of one form and width with packed weights. It never changes, so threads may share it."""

    def __init__(
        self, form: Form, weights: Sequence[Sequence[Tensor]], inputs: Sequence[int], sources: Sequence[Tensor]
    ) -> None:
        first = weights[0][0]
        self.generation = library.generation()
        self._sources = list(sources)
        then = [t.detach().clone() for t in sources]  # copied first, so that later changes are noticed
        self._compared = (_Source * len(then))(
            *(_Source(copy.data_ptr(), copy.nbytes, copy.dim(), (c_int64 * _AXES)(*copy.shape)) for copy in then)
        )
        self._keep = [*then]
        self._problems = []
        for layer, D in zip(weights, inputs, strict=True):
            p = described(form, [w.detach() for w in layer], self._keep)
            p.D = D
            self._keep.append(pack(p, form, first))
            self._problems.append(p)
        self._wide = int(first.dtype is torch.float64)
        self._D, self.H, self.layers = inputs[0], int(self._problems[0].H), len(self._problems)
        self.remembers = form.remembers
        self._pointers = (c_void_p * self.layers)(*(ctypes.addressof(p) for p in self._problems))
        fixed = ctypes.addressof(self._pointers), ctypes.addressof(self._compared)
        self.fixed = *fixed, self.layers, len(then), self._wide
        self.pack = struct.Struct(f"=QQqqqQQQQdQQQ{len(then)}Q").pack  # `CfcStep` of problem.h
        small = sum(w.nbytes for layer in weights for w in layer) <= _HELD
        self.run = (library.held() if small else kernel()).lt_cfc_step
        self.run.argtypes = [c_char_p]

    @classmethod
    def of(cls, form: Form, weights: Sequence[Sequence[Tensor]], sources: Sequence[Tensor]) -> CpuStepper | None:
        """Return a stepper for single samples, or None if the layers do not fit or sources are not dense."""
        if not library.sees_tensors():
            return None
        for t in sources:
            check_stored("weights", t)
            if not t.is_contiguous() or t.is_neg() or t.dtype is not weights[0][0].dtype or t.dim() > _AXES:
                return None
        H = weights[0][2 * form.layers].shape[0] // form.heads
        inputs = [(layer[-2] if form.remembers else layer[0]).shape[-1] - H for layer in weights]
        if inputs[0] < 1 or any(width != H for width in inputs[1:]):
            return None
        try:
            for layer, width in zip(weights, inputs, strict=True):
                check_weights(form, layer, width, H, layer[0])
        except (TypeError, ValueError):
            return None  # the plain step reports what does not fit
        return cls(form, weights, inputs, sources)

    def step(
        self, x: Tensor, h: Tensor | None, m: Tensor | None, dt: Tensor | float
    ) -> tuple[Tensor, Tensor, Tensor | None] | None:
        """Process one sample; see `Stepper.step`."""
        if library.generation() != self.generation:
            return None
        layers, B, H = self.layers, x.shape[0], self.H
        if h is None:
            h = x.new_zeros(layers, B, H)
            m = h if self.remembers else None
        y, hn = x.new_empty(B, H), x.new_empty(layers, B, H)
        mn = None if m is None else x.new_empty(layers, B, H)
        number = type(dt) is float
        read = [x, h, x if number else dt, h if m is None else m, *self._sources]
        if any(map(_is_negated, read)):  # type: ignore[arg-type]
            return None
        code = self.run(
            self.pack(
                *self.fixed,
                x._cdata,
                h._cdata,
                0 if m is None else m._cdata,
                0 if number else dt._cdata,  # type: ignore[union-attr]
                dt if number else 0.0,
                y._cdata,
                hn._cdata,
                0 if mn is None else mn._cdata,
                *map(_address, self._sources),
            )
        )
        if code in (library.STALE, library.UNFIT, library.BAD_INTERVAL):
            return None
        library.raise_for(code, x, None)
        return y, hn, mn


class CpuFrozenStepper(FrozenStepper):
    """The same without comparing weights, and with its own memory, so that nothing is allocated per sample.

    The state alternates between two places; each call reads one and writes the other.
    """

    def __init__(self, form: Form, weights: Sequence[Sequence[Tensor]], stepper: CpuStepper, rows: int) -> None:
        self._form, self._weights = form, weights
        like, layers, H = weights[0][0], stepper.layers, stepper.H
        self.y = like.new_zeros(rows, H)
        states = [like.new_zeros(layers, rows, H) for _ in range(2)]
        memories = [like.new_zeros(layers, rows, H) for _ in range(2)] if stepper.remembers else [None, None]
        self._places = [*zip(states, memories, strict=True)]
        self._now = 0
        self.h, self.m = self._places[0]
        self._stepper = stepper

    @classmethod
    def of(cls, form: Form, weights: Sequence[Sequence[Tensor]], rows: int) -> CpuFrozenStepper | None:
        """Return a stepper for single samples with a copy of these weights, or None if the layers do not fit."""
        for layer in weights:
            for w in layer:
                check_stored("weights", w)
        copies = [[w.detach().clone() for w in layer] for layer in weights]
        stepper = CpuStepper.of(form, copies, ())
        return None if stepper is None else cls(form, copies, stepper, rows)

    def step(self, x: Tensor, dt: Tensor | float) -> bool:
        """Process one sample; see `FrozenStepper.step`."""
        stepper = self._stepper
        if library.generation() != stepper.generation:  # the new instruction set packs weights in another order
            stepper = CpuStepper.of(self._form, self._weights, ()) or stepper
            self._stepper = stepper
        h, m = self.h, self.m
        after = 1 - self._now
        hn, mn = self._places[after]
        number = type(dt) is float
        if x.is_neg() or (not number and dt.is_neg()):  # type: ignore[union-attr]
            return False
        code = stepper.run(
            stepper.pack(
                *stepper.fixed,
                x._cdata,
                h._cdata,
                0 if m is None else m._cdata,
                0 if number else dt._cdata,  # type: ignore[union-attr]
                dt if number else 0.0,
                self.y._cdata,
                hn._cdata,
                0 if mn is None else mn._cdata,
            )
        )
        if not code:
            self._now, self.h, self.m = after, hn, mn
            return True
        if code != library.UNFIT:
            library.raise_for(code, dt.reshape(-1, 1) if isinstance(dt, Tensor) else x.new_tensor([[dt]]), None)
        return False
