"""The horizon of a forecaster, and forecasts of networks for series that they were not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.data import SeriesSet
from liquidtime.estimators.forecast.lesson import Draw, Scene, answers_of
from liquidtime.estimators.forecast.network import ForecastNetwork, parts_of, said_of_cuts
from liquidtime.estimators.network import PREDICT_BATCH, Prepared, SeriesBatches
from liquidtime.training.devices import on_device

Values = npt.NDArray[np.float64]
_CUTS, _QUESTIONS, _SERIES = 8, 12, 500
_WINDOW = 512


def usual_horizon(data: SeriesSet) -> float:
    """Return the length of the last quarter of the samples in most series, in the set's unit."""
    spans = []
    for begin, end in zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        if end - begin >= 2:
            cut = begin + max(1, int(0.75 * (end - begin))) - 1
            spans.append(data.times[end - 1] - data.times[min(cut, end - 2)])
    return float(np.quantile(spans, 0.9))


def check_reach(data: SeriesSet, horizon: float) -> None:
    """Refuse a horizon that is shorter than all intervals between samples: there would be nothing to learn.

    Args:
        data: S series, one of them with two samples.
        horizon: in the time unit of the set.

    Raises:
        ValueError: every interval between samples is longer.

    """
    inside = np.ones(max(0, len(data.times) - 1), dtype=bool)
    borders = data.offsets[1:-1]
    inside[borders[(borders > 0) & (borders < len(data.times))] - 1] = False
    shortest = float(np.diff(data.times)[inside].min())
    if horizon < shortest:
        unit = f" {data.time_unit}" if data.time_unit else ""
        raise ValueError(
            f"`horizon` must reach at least the next sample; {horizon:g}{unit} is shorter than the shortest interval "
            f"between samples, {shortest:g}{unit}. Give it in the time unit of the series"
            + (", or set another one with `time_unit`." if data.time_unit else ".")
        )


def windows(data: SeriesSet) -> SeriesSet:
    """Return the set with series of over 512 samples cut into overlapping windows, each a series of its own."""
    if not (data.lengths > _WINDOW).any():
        return data
    spans: list[tuple[int, int, int]] = []
    for series, (begin, end) in enumerate(zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)):
        starts: Sequence[int] = [begin]
        if end - begin > _WINDOW:
            count = -(-2 * (end - begin - _WINDOW) // _WINDOW) + 1
            starts = np.linspace(begin, end - _WINDOW, count).astype(np.int64).tolist()
        spans += [(series, start, min(start + _WINDOW, end)) for start in starts]
    rows = np.concatenate([np.arange(begin, end) for _, begin, end in spans])
    owners = np.array([series for series, _, _ in spans])
    return data.replace_unchecked(
        offsets=np.concatenate([[0], np.cumsum([end - begin for _, begin, end in spans])]).astype(np.int64),
        times=data.times[rows],
        values=data.values[rows],
        ids=np.arange(len(spans)),
        static=data.static[owners],
        origins=None if data.origins is None else data.origins[owners],
    )


class Judged(NamedTuple):
    """Questions at R cuts of held-out series, and the forecasts of the first parts.

    Args:
        parts: (R, Q, C, J) the `PARTS`, in standard deviations.
        truth: (R, Q, C) what was measured, NaN = nothing.
        since: (R, Q, C) scaled time since each channel's last value.
        cut: (R,) the last step seen, among all steps of the series.
        asked: (R, Q) the step asked for.
    """

    parts: Values
    truth: Values
    since: Values
    cut: npt.NDArray[np.int64]
    asked: npt.NDArray[np.int64]

    @property
    def network_loss(self) -> float:
        """The mean squared error of the network, as if the questions were spread evenly over the gaps."""
        known = ~np.isnan(self.truth)
        weights = np.sqrt(self.since[known])  # half as many are asked at four times the gap
        off = (self.parts[..., 0] - self.truth)[known] ** 2
        return float(weights @ off / weights.sum()) if weights.sum() > 0 else float("inf")


def judge(
    network: ForecastNetwork, prepared: Prepared, lesson: Tensor, scene: Scene, reach: float, start: float
) -> Judged:
    """Return forecasts for held-out series.

    Args:
        network: not trained on them.
        prepared: the series.
        lesson: of their steps.
        scene: how they are read.
        reach: largest scaled gap.
        start: share of their steps that training has seen.
    """
    every = max(1, len(prepared) // _SERIES)
    found: list[tuple[Tensor, ...]] = []
    (there,) = on_device([network], prepared.device)
    with torch.inference_mode():
        for sample in SeriesBatches(prepared, PREDICT_BATCH, np.arange(0, len(prepared), every)):
            cuts = _CUTS if start == 0.0 else _CUTS * _QUESTIONS
            draw = Draw.of(sample, cuts, _QUESTIONS, reach, random=False, start=start, power=2.0)
            anchors, asked, truth, counts = answers_of(draw, sample, lesson, scene)
            parts = parts_of(said_of_cuts(there, sample, draw.cut, anchors, asked).cpu(), anchors, asked)
            s = anchors.since.unsqueeze(1) + asked.gap.unsqueeze(-1)
            first = sample.first.unsqueeze(1)
            steps = (first + draw.cut).flatten(), (first.unsqueeze(-1) + draw.asked).flatten(0, 1)
            found.append((parts, torch.where(counts, truth, torch.nan), s, *steps))
    columns = [torch.cat(each) for each in zip(*found, strict=True)]
    return Judged(*(part.double().numpy() for part in columns[:3]), *(step.numpy() for step in columns[3:]))
