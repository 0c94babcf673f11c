"""The scan on the CPU: a kernel in C++ for several instruction sets."""

from __future__ import annotations

import torch
from torch import Tensor

from liquidtime.ops.ltc_scan.backend import Backend, Gradients, Inputs, Outputs
from liquidtime.ops.ltc_scan.cpu.problem import run_backward, run_forward, states_shape
from liquidtime.ops.native import library


class CpuBackend(Backend):
    """Supports every solver, in float32 and float64, if the library was built."""

    devices = ("cpu",)

    def refusal(self, inputs: Inputs, training: bool) -> str | None:
        """Return why this scan is refused; see `Backend.refusal`."""
        dtype = inputs.x.dtype
        if dtype is not torch.float32 and dtype is not torch.float64:
            return f"it computes in float32 or float64; the tensors are {dtype}"
        return library.why_missing()

    def saved_like(self, inputs: Inputs) -> Tensor:
        """Return a tensor like the one that a forward run saves; see `Backend.saved_like`."""
        return inputs.x.new_empty(states_shape(inputs))

    def forward(self, inputs: Inputs, save: bool, *, zeroed: bool = False) -> Outputs:
        """Run forward; see `Backend.forward`."""
        return run_forward(inputs, save, zeroed)

    def backward(
        self, inputs: Inputs, saved: Tensor, dy: Tensor | None, dvn: Tensor | None, need_dx: bool, need_ddt: bool
    ) -> Gradients:
        """Run backward; see `Backend.backward`."""
        return run_backward(inputs, saved, dy, dvn, need_dx, need_ddt)
