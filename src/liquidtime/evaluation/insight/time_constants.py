"""The time constants of the units of a trained network."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.cells import Cell, CfCCell, LTCCell
from liquidtime.layers import Recurrent


def time_constants(layer: Recurrent, x: Tensor, dt: Tensor, lengths: Tensor) -> npt.NDArray[np.float64] | None:
    """Return the time constant of each unit, as the median over the samples of some series.

        CfC:  s = σ(a·dt + c),   a = A·backbone([x ; h]),   time constant = median of 1/|a|
        LTC:  dv/dt = push - rate·v,                         time constant = median of 1/rate

    Args:
        layer: L recurrent layers, forward in time only.
        x: (B, T, D) encoded samples.
        dt: (B, T) time since the previous sample.
        lengths: (B,) number of samples in each series.

    Returns:
        (L·H,) in the unit of `dt`; None if a cell has no such constant, or there is no sample.

    """
    inside = torch.arange(x.shape[1]) < lengths.unsqueeze(1)  # (B, T)
    if layer.bidirectional or not bool(inside.any()):
        return None
    constants = []
    with torch.inference_mode():
        for cell in layer.cells:
            if not isinstance(cell, CfCCell | LTCCell):
                return None
            y, before = _run(cell, x, dt, lengths)
            rates = _rates(cell, x[inside], before[inside])  # (N, H)
            constants.append((1.0 / rates.double().clamp(min=1e-12)).median(dim=0).values)
            x = y
    return torch.cat(constants).numpy()


def _rates(cell: CfCCell | LTCCell, x: Tensor, h: Tensor) -> Tensor:
    """Return (N, H) the rate of each unit at inputs (N, D) and states (N, H), at least 0."""
    if isinstance(cell, CfCCell):
        return cell.head_values(x, h)[2].abs()
    rate: Tensor = cell.drive(x)(h)[0]
    return rate


def _run(cell: Cell, x: Tensor, dt: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the outputs (B, T, ·) and the states (B, T, H) before every sample."""
    state = cell.initial_state(x)
    if isinstance(cell, CfCCell):
        y, _ = cell.scan(x, state, dt, lengths)  # the outputs are the states
        return y, torch.cat([torch.zeros_like(y[:, :1]), y[:, :-1]], dim=1)
    outputs, before = [], []
    for step in range(x.shape[1]):
        before.append(state[0])
        y, state = cell(x[:, step], state, dt[:, step])
        outputs.append(y)
    return torch.stack(outputs, dim=1), torch.stack(before, dim=1)
