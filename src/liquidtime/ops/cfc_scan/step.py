"""One sample at a time by the short way: weights packed once, one call for all layers of a stack."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.cfc_scan.problem import BAD_INTERVAL, Problem, kernel, pack, point_to_weights

_pack = struct.Struct("=QqqqQQQQdQQQ").pack  # `CfcStep` of problem.h; one argument instead of twelve is a microsecond


class Stepper:
    """A stack of scans of one form and width, its weights packed, that takes single steps without gradients.

    Args:
        form: of every layer.
        weights: of each layer, as `cfc_scan` takes them.
        inputs: how many inputs each layer has.

    """

    def __init__(self, form: Form, weights: Sequence[Sequence[Tensor]], inputs: Sequence[int]) -> None:
        first = weights[0][0]
        self.dtype = first.dtype
        self._wide = int(first.dtype is torch.float64)
        self._keep: list[Tensor] = []
        self._problems = []
        for layer, D in zip(weights, inputs, strict=True):
            p = Problem()
            point_to_weights(p, form, [w.detach() for w in layer], self._keep)
            p.D = D
            self._keep.append(pack(p, first))
            self._problems.append(p)
        self.D, self.H, self.layers = inputs[0], int(self._problems[0].H), len(self._problems)
        self.remembers = form.remembers
        addresses = (ctypes.addressof(p) for p in self._problems)
        self._pointers = (ctypes.c_void_p * self.layers)(*addresses)
        self._address = ctypes.addressof(self._pointers)
        self._run = kernel().lt_cfc_step
        self._zeros = first.new_zeros(0)

    def step(
        self, x: Tensor, h: Tensor | None, m: Tensor | None, dt: Tensor | float
    ) -> tuple[Tensor, Tensor, Tensor | None] | None:
        """Take one step.

        Args:
            x: (B, D) dense.
            h: (layers, B, H) dense, or None for 0.
            m: the memory likewise, where the form has one.
            dt: (B,) dense, or one number for all rows.

        Returns:
            (B, H) the output and the new state; None where an interval is negative, NaN or infinite.

        """
        B, H = x.shape[0], self.H
        hn = x.new_empty(self.layers, B, H)
        y = x.new_empty(B, H)
        mn = x.new_empty(self.layers, B, H) if self.remembers else None
        if h is None:
            h = m = self._zeros
            if h.numel() < self.layers * B * H:
                self._zeros = h = m = x.new_zeros(self.layers * B * H)
        number = type(dt) is float
        code = self._run(
            _pack(
                self._address,
                self.layers,
                self._wide,
                B,
                x.data_ptr(),
                h.data_ptr(),
                0 if mn is None else m.data_ptr(),  # type: ignore[union-attr]
                0 if number else dt.data_ptr(),  # type: ignore[union-attr]
                dt if number else 0.0,
                y.data_ptr(),
                hn.data_ptr(),
                0 if mn is None else mn.data_ptr(),
            )
        )
        if code == BAD_INTERVAL:
            return None
        if code:
            raise MemoryError("the native step could not get its working memory")
        return y, hn, mn
