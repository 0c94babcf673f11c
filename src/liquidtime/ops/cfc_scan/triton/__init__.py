"""The scan on CUDA devices: kernels in Triton, if it is installed. We have never run them on a GPU."""

from __future__ import annotations

import functools
import importlib.util

from torch import Tensor, float32

from liquidtime.ops.cfc_scan.backend import Backend, Gradients, Inputs, Outputs, Wanted
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.cfc_scan.triton.settings import MOST_UNITS

ACTIVATIONS = ("relu", "silu", "tanh", "lecun_tanh")


class TritonBackend(Backend):
    """Supports heads with and without a gate, on one backbone layer of up to 256 units, in float32.

    Products are exact ("full", or with bf16 operands if the form says so), unless
    `torch.set_float32_matmul_precision("high")` requests TF32, as it does for the matrix products of PyTorch.

    Args:
        devices: the types of device that it runs scans on.

    """

    def __init__(self, devices: tuple[str, ...] = ("cuda",)) -> None:
        self.devices = devices

    def refusal(self, form: Form, inputs: Inputs, training: bool) -> str | None:
        """Return why this scan is refused; see `Backend.refusal`."""
        if form.kind not in ("gated", "no_gate") or form.remembers:
            return f"it does not support kind {form.kind!r} with memory {form.memory!r}"
        if form.layers != 1 or form.activation not in ACTIVATIONS or any(form.masked):
            return "it supports only a backbone of one layer without dropout, with any activation except gelu"
        if inputs.x.dtype is not float32:
            return f"it computes in float32; the tensors are {inputs.x.dtype}"
        U, H = inputs.weights[0].shape[0], inputs.weights[2].shape[0] // form.heads
        if max(U, H) > MOST_UNITS:
            return f"it supports up to {MOST_UNITS} units; there are {H}, and {U} in the backbone"
        return missing()

    def saved_like(self, form: Form, inputs: Inputs, need_ddt: bool) -> Tensor:
        """Return a tensor like the saved one, which has the arguments of the backbone and the outputs of the heads."""
        B, T, _ = inputs.x.shape
        return inputs.x.new_empty(B, T, inputs.weights[0].shape[0] + inputs.weights[2].shape[0])

    def forward(self, form: Form, inputs: Inputs, save: bool, need_ddt: bool, *, zeroed: bool = False) -> Outputs:
        """Run forward; see `Backend.forward`."""
        from liquidtime.ops.cfc_scan.triton.runs import run_forward

        return run_forward(form, inputs, save)

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
        from liquidtime.ops.cfc_scan.triton.runs import run_backward

        return run_backward(form, inputs, y, saved, incoming, wanted)


@functools.cache
def missing() -> str | None:
    """Return why the kernels cannot run, or None if they can."""
    return None if importlib.util.find_spec("triton") else "Triton is not installed"
