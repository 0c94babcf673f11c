"""The products before and after the kernels that need no state, and the launch of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import silu

from liquidtime._checks import check_dt, check_lengths
from liquidtime.ops.cfc_scan.backend import Gradients, Inputs, Outputs, Wanted
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.cfc_scan.triton import kernels
from liquidtime.ops.cfc_scan.triton.settings import ROWS, sizes_of

_KERNELS: Any = kernels  # which Triton has wrapped
triton, tl = _KERNELS.triton, _KERNELS.tl
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "silu": silu,
    "tanh": torch.tanh,
    "lecun_tanh": lambda v: 1.7159 * torch.tanh(0.666 * v),
}


def run_forward(form: Form, inputs: Inputs, save: bool) -> Outputs:
    """Run forward; see `Backend.forward`."""
    x, h0, _, dt, lengths, (W, b, heads, bias), _ = inputs
    (B, T, D), H, U = x.shape, h0.shape[1], W.shape[0]
    counts = x.new_full((B,), T, dtype=torch.int64) if lengths is None else check_lengths(lengths, B, T, x.device)
    check_dt(dt, None if lengths is None else counts)
    y, hn = x.new_zeros(B, T, H), torch.empty_like(h0, memory_format=torch.contiguous_format)
    saved = x.new_zeros(B, T, U + heads.shape[0]) if save else None
    if not B or not T:
        return Outputs(y, hn.copy_(h0), None, saved)
    pre, out = (x, x) if saved is None else _parts(saved, U)
    operand = _operand(form)
    px = torch.addmm(b, operand(_cleared(x, counts)).reshape(B * T, D), operand(W[:, :D]).t())
    wh, turned = (_stored(form, part.t()) for part in (W[:, D:], heads))
    given = (px, h0.contiguous(), dt.contiguous(), counts, wh, turned, bias.contiguous(), y, hn, pre, out)
    _KERNELS.forward[(triton.cdiv(B, ROWS),)](*given, B, T, SAVE=save, **_options(form, H, U))
    return Outputs(y, hn, None, saved)


def run_backward(
    form: Form,
    inputs: Inputs,
    y: Tensor,
    saved: Tensor,
    incoming: tuple[Tensor | None, Tensor | None, Tensor | None],
    wanted: Wanted,
) -> Gradients:
    """Run backward; see `Backend.backward`."""
    x, h0, _, dt, lengths, (W, _, heads, _), _ = inputs
    (B, T, D), H, U = x.shape, h0.shape[1], W.shape[0]
    dy, dhn = (
        torch.zeros_like(like) if given is None else given for given, like in zip(incoming, (y, h0), strict=False)
    )
    dh0, ddt = dhn.clone(memory_format=torch.contiguous_format), x.new_zeros(B, T) if wanted.dt else None
    dpre, dout = x.new_zeros(B, T, U), x.new_zeros(B, T, heads.shape[0])
    pre, out = _parts(saved, U)
    counts = x.new_full((B,), T, dtype=torch.int64) if lengths is None else lengths
    if B and T:
        wh, own = (_stored(form, part) for part in (W[:, D:], heads))
        given = (dy.contiguous(), dhn.contiguous(), dt.contiguous(), counts, wh, own, pre, out, dh0)
        _KERNELS.backward[(triton.cdiv(B, ROWS),)](
            *given, x if ddt is None else ddt, dpre, dout, B, T, NEED_DDT=wanted.dt, **_options(form, H, U)
        )
    operand = _operand(form)
    dpre, dout = operand(dpre).view(B * T, U), operand(dout).view(B * T, -1)
    before = torch.cat([h0.unsqueeze(1), y[:, :-1]], dim=1) if T else y
    seen = operand(torch.cat([_cleared(x, counts), before], dim=-1)).view(B * T, -1)
    z = operand(_ACTIVATIONS[form.activation](pre)).reshape(B * T, U)
    weights = [dpre.t() @ seen, dpre.sum(0), dout.t() @ z, dout.sum(0)]
    dx = (dpre @ operand(W[:, :D])).view(B, T, D) if wanted.x else None
    return Gradients(dx, dh0, None, ddt, weights)


def _parts(saved: Tensor, U: int) -> tuple[Tensor, Tensor]:
    """Return the two tables that were saved one after the other in one tensor."""
    B, T, width = saved.shape
    pre, out = torch.split(saved.view(-1), [B * T * U, B * T * (width - U)])
    return pre.view(B, T, U), out.view(B, T, width - U)


def _cleared(x: Tensor, counts: Tensor) -> Tensor:
    """Return x with 0 past the end of each row, whatever was there."""
    past = torch.arange(x.shape[1], device=x.device) >= counts.unsqueeze(1)
    return x.masked_fill(past.unsqueeze(-1), 0.0)


def _operand(form: Form) -> Any:
    """Return what is done to the operands of products: rounding to bf16, or nothing."""
    return (lambda t: t.to(torch.bfloat16).float()) if form.products == "bf16" else (lambda t: t)


def _stored(form: Form, weights: Tensor) -> Tensor:
    """Return weights in the type that the kernel multiplies, with dense axes in their order."""
    return weights.to(torch.bfloat16 if form.products == "bf16" else weights.dtype).contiguous()


def _options(form: Form, H: int, U: int) -> dict[str, Any]:
    bf16 = form.products == "bf16"
    sizes = sizes_of(H, bf16)
    return {
        "H": H, "U": U, "HP": sizes.padded, "BM": ROWS, "BU": sizes.block, "BK": sizes.part,
        "GATED": form.kind == "gated",
        "HEADS": form.heads, "ACT": form.activation, "HEAD_ACT": form.head_activation,
        "OPERANDS": tl.bfloat16 if bf16 else tl.float32, "PRECISION": precision(),
        "num_warps": sizes.warps, "num_stages": sizes.stages,
    }  # fmt: skip


def precision() -> str:
    """Return how float32 is multiplied: exactly, or as TF32 if PyTorch is allowed to."""
    return "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"
