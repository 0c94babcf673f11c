"""Typical slopes, levels and changes of training series, so that inputs and outputs of networks are near one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.data import SeriesSet
from liquidtime.estimators.forecast.lesson import Lesson, Scene

Values = npt.NDArray[np.float64]
_PAIRS = 8
"""Number of later steps to compare each step with."""
_SPANS = 8
"""Number of time spans over which typical changes are measured."""
_FEWEST = 40
"""Smallest number of changes to estimate how values settle."""
_LEAST = 1e-3


def usual_of(steps: SeriesSet, rows: Tensor, scene: Scene, horizon: float) -> Tensor:
    """Return (4, C) typical values of training series, in standard deviations and scaled times.

    Roots of the mean squares of the slopes of straight lines, of the slopes over a longer time, and of the distances of
    the mean so far from the last value; and the time tau with which moves from the last value grow, as
    1 - exp(-s / tau).

    Args:
        steps: the series.
        rows: (N, W) the packed lesson of their steps.
        scene: how they were read.
        horizon: how far ahead will be asked, in the set's unit.
    """
    lesson = Lesson.unpack(rows, scene)
    anchors = lesson.anchors
    slope, trend, away = (_root(part) for part in (anchors.slope, anchors.trend, anchors.mean - anchors.last))
    ends = np.repeat(steps.offsets[1:], steps.lengths)
    until = np.array([], dtype=np.int64)
    if len(steps.times):
        until = np.concatenate(
            [
                begin + np.searchsorted(steps.times[begin:end], steps.times[begin:end] + horizon, side="right")
                for begin, end in zip(steps.offsets[:-1].tolist(), steps.offsets[1:].tolist(), strict=True)
            ]
        )
    cut = np.flatnonzero(np.minimum(until, ends) > np.arange(len(ends)) + 1)
    count = np.minimum(until, ends)[cut] - cut - 1
    later = cut[:, None] + 1 + (np.linspace(0.0, 1.0, _PAIRS) * (count[:, None] - 1)).round().astype(np.int64)
    gaps = torch.from_numpy((steps.times[later] - steps.times[cut][:, None]) / scene.time_scale)
    moves = lesson.value[torch.from_numpy(later)] - anchors.last[cut].unsqueeze(1)  # (n, pairs, C)
    since = anchors.since[cut].unsqueeze(1) + gaps.unsqueeze(-1)
    there = moves.isfinite() & (anchors.known[cut].unsqueeze(1) > 0)
    settling = [
        _settling(since[..., c][there[..., c]].double().numpy(), moves[..., c][there[..., c]].double().numpy())
        for c in range(moves.shape[-1])
    ]
    return torch.stack([slope, trend, away, torch.tensor(settling, dtype=torch.float32)])


def _root(part: Tensor) -> Tensor:
    return part.double().square().mean(dim=0).sqrt().clamp(min=_LEAST).float()


def _settling(since: Values, moves: Values) -> float:
    """Return the time tau with which 1 - exp(-s / tau) is most nearly proportional to the usual moves over times s."""
    if len(since) < _FEWEST:
        return 1.0
    edges = np.quantile(since, np.linspace(0.0, 1.0, _SPANS + 1))
    span = np.clip(np.searchsorted(edges, since, side="right") - 1, 0, _SPANS - 1)
    size = np.bincount(span, minlength=_SPANS)
    some = size > 0
    middle = np.bincount(span, since, minlength=_SPANS)[some] / size[some]
    squares = np.bincount(span, moves**2, minlength=_SPANS)[some] / size[some]
    if not squares.max() > 0:
        return 1.0
    logs = np.log(np.maximum(squares, 1e-6 * squares.max())) / 2
    tries = np.geomspace(0.25, max(4.0, _SPANS * edges[-1]), 40)
    apart = [np.var(logs - np.log(-np.expm1(-np.maximum(middle, 1e-6) / tau))) for tau in tries]
    return float(tries[int(np.argmin(apart))])
