"""The forecast of model folders of form 1: the state is carried over the gap by a step without observations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.data import SeriesEncoder
from liquidtime.data.encoding.future_times import split_rows
from liquidtime.estimators.network import PREDICT_BATCH, Prepared, SeriesBatches, SeriesNetwork
from liquidtime.estimators.network.finite import finite

Values = npt.NDArray[np.float64]


class CarriedAnswers:
    """Forecasts of such a model: without a mixture, parts or intervals.

    Args:
        values: (R, Q, C) in the channels' own units.
        sizes: of ragged times, how many each series has; None for all alike.
    """

    def __init__(self, values: Values, sizes: list[int] | None = None) -> None:
        self._values, self._sizes = values, sizes

    def mixture(self, intervals: float | None) -> Any:
        """Return the forecasts; intervals are refused."""
        if intervals is not None:
            raise _refused()
        return split_rows(finite(self._values), self._sizes)

    def part(self, name: str) -> Any:
        """Return the forecasts, which are those of the networks alone."""
        return self.mixture(None)

    def parts(self) -> dict[str, tuple[Any, Any]]:
        """Refuse: there are none."""
        raise _refused()


def _refused() -> ValueError:
    return ValueError("the model was saved by an earlier version and has no mixture or intervals; fit it again")


class CarriedForecast:
    """forecast(t) = last value + out[network carried from the last sample over t - now], in the encoder's scale.

    Args:
        encoder: of the model.
        places: positions of the channels that are forecast.
    """

    def __init__(self, encoder: SeriesEncoder, places: Sequence[int]) -> None:
        self.encoder, self.places = encoder, list(places)
        self._value = [encoder.layout_.value[encoder.channels_[place]].start for place in places]

    def predict(self, networks: Sequence[SeriesNetwork], prepared: Prepared, gaps: Values) -> Values:
        """Return (S, Q, C) forecasts over scaled gaps (S, Q); the series are prepared with every step's history."""
        out = np.empty((*gaps.shape, len(self.places)))
        Q = gaps.shape[1]
        with torch.inference_mode():
            for sample in SeriesBatches(prepared, PREDICT_BATCH):
                rows, last = torch.arange(len(sample.rows)), (sample.lengths - 1).clamp(min=0)
                gap = torch.from_numpy(gaps[sample.rows.numpy()]).float().reshape(-1)
                later = self.input_after(sample.x[rows, last].repeat_interleave(Q, dim=0), gap)
                beside = [part.repeat_interleave(Q, dim=0) for part in (sample.static, sample.history[rows, last])]
                each = [
                    network.step(later, network.states(sample.x, sample.dt, sample.lengths).repeat(Q), gap, *beside)[0]
                    for network in networks
                ]
                scaled = torch.stack(each).mean(dim=0) + later[:, self._value]
                out[sample.rows.numpy()] = scaled.reshape(len(rows), Q, -1).numpy()
        return self.unscaled(out)

    def live(self, series: Any, gaps: Tensor) -> Values:
        """Return (Q, C) forecasts of a `LiveSeries` over scaled gaps (Q,)."""
        outputs, x = series.carry(self.input_after, gaps)
        return self.unscaled((outputs.mean(dim=0) + x[:, self._value]).double().numpy())

    def input_after(self, x: Tensor, gap: Tensor) -> Tensor:
        """Return the inputs (R, D) of a sample with nothing observed, a scaled gap (R,) after x."""
        layout, C = self.encoder.layout_, len(self.encoder.channels_)
        later = x.clone()
        later[:, layout.mask : layout.mask + C] = 0.0
        since = slice(layout.since, layout.since + C)
        later[:, since] = torch.log1p(torch.expm1(x[:, since]) + gap.unsqueeze(1))
        return later

    def unscaled(self, scaled: Values) -> Values:
        """Return forecasts (..., C) in their own units."""
        columns = [self.encoder.scaling_.invert(place, scaled[..., k]) for k, place in enumerate(self.places)]
        return np.stack(columns, axis=-1)

    def to(self, values: npt.NDArray[Any]) -> Values:
        """Return values (N, C) in the encoder's scale."""
        columns = [self.encoder.scaling_.column(place, values[:, k]) for k, place in enumerate(self.places)]
        return np.stack(columns, axis=1).astype(np.float64)
