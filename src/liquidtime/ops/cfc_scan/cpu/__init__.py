"""The scan on the CPU: kernels in C++ for several instruction sets."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from liquidtime.ops.cfc_scan.backend import (
    Backend,
    FrozenStepper,
    Gradients,
    Inputs,
    Outputs,
    Stepper,
    Wanted,
)
from liquidtime.ops.cfc_scan.cpu.problem import backbone_units, kept_by
from liquidtime.ops.cfc_scan.cpu.runs import CpuSeen, run_backward, run_forward
from liquidtime.ops.cfc_scan.cpu.step import CpuFrozenStepper, CpuStepper
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.native import library


class CpuBackend(Backend):
    """Supports every form, in float32 and float64, if the library was built."""

    devices = ("cpu",)

    def refusal(self, form: Form, inputs: Inputs, training: bool) -> str | None:
        """Return why this scan is refused; see `Backend.refusal`."""
        dtype = inputs.x.dtype
        if dtype is not torch.float32 and (dtype is not torch.float64 or form.products == "bf16"):
            return f"it computes in float32, or in float64 with full products; the tensors are {dtype}"
        return library.why_missing()

    def look(self, form: Form, inputs: Inputs) -> CpuSeen | None:
        """Return a description of the run, or None if the library cannot use the tensors as they are."""
        return CpuSeen.of(form, inputs) if library.is_built() else None

    def saved_like(self, form: Form, inputs: Inputs, need_ddt: bool) -> Tensor:
        """Return a tensor like the one that a forward run saves; see `Backend.saved_like`."""
        x = inputs.x
        units = backbone_units(form, inputs.weights)
        kept = kept_by(form, x.shape[0], x.shape[1], inputs.h0.shape[1], units, x.element_size(), need_ddt)
        return x.new_empty(kept.total(form.layers))

    def forward(self, form: Form, inputs: Inputs, save: bool, need_ddt: bool, *, zeroed: bool = False) -> Outputs:
        """Run forward; see `Backend.forward`."""
        return run_forward(form, inputs, save, need_ddt, zeroed)

    def backward(
        self,
        form: Form,
        inputs: Inputs,
        y: Tensor,
        saved: Tensor,
        incoming: tuple[Tensor | None, Tensor | None, Tensor | None],
        wanted: Wanted,
    ) -> Gradients:
        """Run backward; see `Backend.backward`."""
        return run_backward(form, inputs, y, saved, incoming, wanted)

    def stepper(self, form: Form, weights: Sequence[Sequence[Tensor]], sources: Sequence[Tensor]) -> Stepper | None:
        """Return a stepper for single samples; see `Backend.stepper`."""
        return CpuStepper.of(form, weights, sources)

    def frozen(self, form: Form, weights: Sequence[Sequence[Tensor]], rows: int) -> FrozenStepper | None:
        """Return a stepper with a fixed copy of these weights; see `Backend.frozen`."""
        return CpuFrozenStepper.of(form, weights, rows)
