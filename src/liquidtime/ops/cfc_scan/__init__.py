"""The whole-sequence recurrence of the CfC family. README.md says what it equals."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from liquidtime.ops.cfc_scan.form import MAX_LAYERS, Form
from liquidtime.ops.cfc_scan.native import cfc_scan_native
from liquidtime.ops.cfc_scan.reference import cfc_scan_ref
from liquidtime.ops.fitness import Way, way_for

__all__ = ["MAX_LAYERS", "Form", "cfc_scan", "cfc_scan_native", "cfc_scan_ref"]


def cfc_scan(
    x: Tensor,
    state: tuple[Tensor, ...],
    dt: Tensor,
    lengths: Tensor | None,
    weights: Sequence[Tensor],
    form: Form,
    masks: Tensor | None = None,
    *,
    recompute: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Run the recurrence of `form` over a sequence, on the kernel where it fits, else by the plain loop.

    Args:
        x: (B, T, D) the samples.
        state: (h (B, H),), or (h, m) with a memory.
        dt: (B, T) time since the previous sample, at least 0.
        lengths: (B,) number of samples of each row, or None; what lies behind changes nothing.
        weights: for each backbone layer its weight (U, ·) and bias (U,); of the heads, (heads·H, F) and (heads·H,);
            of the Cf-S forms A and the rate, at least 0, and B where it is learned, each (H,); of a memory
            (4H, D + H) and (4H,).
        form: which equations.
        masks: (K, B, T, U) what the outputs of the masked layers are multiplied by, pass by pass, layer by layer.
        recompute: keep the state every √T steps only and run what lies between again for the gradients: memory that
            grows with √T, for one more forward run. The plain loop keeps everything.

    Returns:
        (B, T, H) the state after each step, 0 behind a row's samples; and the last state.

    """
    way = way_for(x, dt, *state, *weights)
    if way is Way.REFERENCE:
        return cfc_scan_ref(x, state, dt, lengths, weights, form, masks)
    traced = way is Way.TRACED
    return cfc_scan_native(x, state, dt, lengths, weights, form, masks, recompute=recompute, traced=traced)
