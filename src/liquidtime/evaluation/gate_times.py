"""The time scales that a trained network's gates have learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.cells import CfCCell
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.layers import Recurrent

_SERIES = 64
"""Series that suffice for medians over their samples."""


def model_gate_times(model: Any, series: EncodedSeries) -> npt.NDArray[np.float64] | None:
    """Return the time scales of the gates of all networks of a model, in the unit of the data.

    Args:
        model: fitted.
        series: some series, as the model reads them.

    Returns:
        One time scale per gate; None where no network has gates, or no series a sample.

    """
    rows = np.flatnonzero(series.data.lengths > 0)[:_SERIES]
    if len(rows) == 0:
        return None
    scales = []
    for place, encoder in enumerate(model.encoders_):
        sample = series.prepared(place).at(rows)
        for network in model.networks_[place :: len(model.encoders_)]:
            if isinstance(network.recurrent, Recurrent):
                times = gate_times(network.recurrent, sample.x, sample.dt, sample.lengths)
                scales += [] if times is None else [times * encoder.time_scale_]
    return np.concatenate(scales) if scales else None


def gate_times(layer: Recurrent, x: Tensor, dt: Tensor, lengths: Tensor) -> npt.NDArray[np.float64] | None:
    """Return the time scale of each unit's gate, over the samples of some series.

        s = σ(a·dt + c),   a = A·backbone([x ; h]),   time scale = median of 1/|a|

    Args:
        layer: L recurrent layers, forward in time only.
        x: (B, T, D) encoded samples.
        dt: (B, T) time since the previous sample.
        lengths: (B,) samples in each series.

    Returns:
        (L·H,) in the unit of `dt`; None where a cell has no such gate, or there is no sample.

    """
    inside = torch.arange(x.shape[1]) < lengths.unsqueeze(1)  # (B, T)
    if not bool(inside.any()):
        return None
    scales = []
    with torch.inference_mode():
        for cell in layer.cells:
            if not isinstance(cell, CfCCell):
                return None
            y, _ = cell.scan(x, cell.initial_state(x), dt, lengths)
            before = torch.cat([torch.zeros_like(y[:, :1]), y[:, :-1]], dim=1)
            a = cell.head_values(x[inside], before[inside])[2]  # (N, H)
            scales.append((1.0 / a.abs().double().clamp(min=1e-12)).median(dim=0).values)
            x = y
    return torch.cat(scales).numpy()
