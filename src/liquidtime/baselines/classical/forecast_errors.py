"""Forecasts of the rest of each series, measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesEncoder, SeriesSet


@dataclass(frozen=True)
class Skill:
    """How far forecasts were off on the encoder's scale: in standard deviations of each channel or of its logarithm.

    Args:
        mse: mean squared error.
        mae: mean absolute error.
        count: values compared.
    """

    mse: float
    mae: float
    count: int


def compare_forecasts(
    forecasts: Mapping[str, Callable[..., Any]],
    data: SeriesSet,
    channels: Sequence[str],
    encoder: SeriesEncoder,
    share: float,
) -> dict[str, Skill]:
    """Cut each series behind a share of its samples, forecast the rest, and measure the errors.

    Args:
        forecasts: functions of (series, list of times), by name.
        data: S series; those with fewer than two samples are left out.
        channels: C names of what is forecast.
        encoder: fitted; errors are taken between scaled values.
        share: of the samples that are seen, in (0, 1).
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"`share` must be between 0 and 1; got {share!r}")
    data = data[np.flatnonzero(data.lengths >= 2)]
    if len(data) == 0:
        raise ValueError("`X` must have series of at least two samples: there is nothing to forecast")
    kept = np.clip((data.lengths * share).astype(np.int64), 1, data.lengths - 1)
    seen = np.arange(len(data.times)) - np.repeat(data.offsets[:-1], data.lengths) < np.repeat(kept, data.lengths)
    past = data._with(offsets=np.concatenate([[0], np.cumsum(kept)]), times=data.times[seen], values=data.values[seen])
    times = [row.times[size:] for row, size in zip(data, kept, strict=True)]
    wanted = data.values[~seen][:, [data.channels.index(name) for name in channels]]
    known = ~np.isnan(wanted)
    places = [encoder.channels_.index(name) for name in channels]

    def scaled(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.stack([encoder.scaling_.column(place, values[:, k]) for k, place in enumerate(places)], axis=1)

    found = {}
    for name, forecast in forecasts.items():
        off = (scaled(np.concatenate(forecast(past, times))) - scaled(wanted))[known].astype(np.float64)
        found[name] = Skill(float((off**2).mean()), float(np.abs(off).mean()), len(off))
    return found
