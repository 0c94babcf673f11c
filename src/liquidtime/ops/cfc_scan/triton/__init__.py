"""The scan on CUDA devices: kernels in Triton, where it is installed. It has never been run on a GPU by us."""

from __future__ import annotations

import functools
import importlib.util

from torch import Tensor, float32

from liquidtime.ops.cfc_scan.backend import Backend, Gradients, Inputs, Outputs, Wanted
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.cfc_scan.triton.settings import MOST_UNITS

ACTIVATIONS = ("relu", "silu", "tanh", "lecun_tanh")


class TritonBackend(Backend):
    """Gated heads and those without a gate, on one backbone layer of up to 256 units, in float32.

    Products are exact ("full", or of bf16 operands where the form says so), unless PyTorch's own setting
    `torch.set_float32_matmul_precision("high")` asks for TF32, as it does for its products of matrices.

    Args:
        devices: the types of device whose tensors it takes.

    """

    def __init__(self, devices: tuple[str, ...] = ("cuda",)) -> None:
        self.devices = devices

    def refusal(self, form: Form, inputs: Inputs, training: bool) -> str | None:
        """Return why this scan is not taken; see `Backend.refusal`."""
        if form.kind not in ("gated", "no_gate") or form.remembers:
            return f"it has no kind {form.kind!r} with memory {form.memory!r}"
        if form.layers != 1 or form.activation not in ACTIVATIONS or any(form.masked):
            return "it takes a backbone of one layer without dropout, and every activation but gelu"
        if inputs.x.dtype is not float32:
            return f"it computes in float32; the tensors are {inputs.x.dtype}"
        U, H = inputs.weights[0].shape[0], inputs.weights[2].shape[0] // form.heads
        if max(U, H) > MOST_UNITS:
            return f"it takes up to {MOST_UNITS} units; there are {H} and {U} in the backbone"
        return missing()

    def saved_like(self, form: Form, inputs: Inputs, need_ddt: bool) -> Tensor:
        """Return a tensor like the one that a forward run saves: the backbone's arguments and the heads' outputs."""
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
    """Return why the kernels cannot run; None where they can."""
    return None if importlib.util.find_spec("triton") else "Triton is not installed"
