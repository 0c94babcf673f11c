"""The training examples of a forecaster: the past at every step, its measurements, and later steps to forecast."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.baselines.classical import LINE
from liquidtime.data import SeriesSet
from liquidtime.data.encoding.observations import Observations, Past
from liquidtime.estimators.forecast.network import Anchors, Questions
from liquidtime.estimators.forecast.season import Seasons
from liquidtime.estimators.network import SeriesBatch
from liquidtime.training.ranks import drawn

Values = npt.NDArray[np.float64]
TREND = 3.0
"""Smallest age of the older value of a trend, in median intervals."""
_TURNS = 4
"""Number of periods that the seasonal naive forecast goes back in training; beyond them it is the last value."""


@dataclass(frozen=True, eq=False)
class Standard:
    """The scaling of the target channels to mean 0 and standard deviation 1.

    Args:
        centre: (C,) training means.
        scale: (C,) training deviations, 1 where there is none.
        positive: (C,) whether no training value is below 0; no forecast then is.
    """

    centre: Values
    scale: Values
    positive: npt.NDArray[np.bool_]

    @staticmethod
    def of(values: npt.NDArray[np.float32]) -> Standard:
        """Measure (N, C) training values, NaN = not observed."""
        known = ~np.isnan(values)
        count = np.maximum(known.sum(axis=0), 1)
        wide = np.where(known, values, 0.0).astype(np.float64)
        centre = wide.sum(axis=0) / count
        spread = np.sqrt((np.where(known, wide - centre, 0.0) ** 2).sum(axis=0) / count)
        positive = np.logical_and.reduce(wide >= 0, axis=0) & np.logical_or.reduce(known, axis=0)
        return Standard(centre, np.where(spread > 0, spread, 1.0), positive)

    def to(self, values: npt.NDArray[Any]) -> Values:
        """Return values (..., C) in standard deviations."""
        standard: Values = (values - self.centre) / self.scale
        return standard

    def back(self, standard: Values) -> Values:
        """Return values (..., C) in their own units."""
        values = standard * self.scale + self.centre
        return np.where(self.positive, np.maximum(values, 0.0), values)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON; `from_dict` reads it."""
        return {"centre": self.centre.tolist(), "scale": self.scale.tolist(), "positive": self.positive.tolist()}

    @staticmethod
    def from_dict(stored: Mapping[str, Any], C: int) -> Standard:
        """Read the result of `to_dict` for C channels."""
        arrays: list[npt.NDArray[Any]] = [np.asarray(stored[name], dtype=kind) for name, kind in _STANDARD.items()]
        if any(array.shape != (C,) for array in arrays) or not (arrays[1] > 0).all():
            raise ValueError(f"`standard` must have {C} means, deviations over 0 and truth values")
        return Standard(*arrays)


_STANDARD = {"centre": np.float64, "scale": np.float64, "positive": np.bool_}


@dataclass(frozen=True, eq=False)
class Scene:
    """The conversion of the past of series into inputs of the decoder.

    Args:
        standard: of the C channels.
        seasons: cycles and period.
        time_scale: the median interval.
        known: of the K channels whose future is known.
    """

    standard: Standard
    seasons: Seasons
    time_scale: float
    known: Standard

    def anchors(self, past: Past, now: Values, starts: Values) -> Anchors:
        """Return the past up to R cuts at times `now` (R,); see `Seasons.phases` for `starts`."""
        standard, scale = self.standard, self.time_scale
        last = np.nan_to_num(standard.to(past.last))
        since = np.where(past.known, (now[:, None] - past.last_time) / scale, 0.0)
        mean = np.nan_to_num(standard.to(past.mean))
        slopes = [past.slope(width * scale) * scale / standard.scale for width in (LINE, TREND)]
        columns = (last, past.known, np.maximum(since, 0.0), mean, *slopes, self.seasons.phases(now, starts))
        return Anchors(*(torch.from_numpy(np.ascontiguousarray(column, dtype=np.float32)) for column in columns))

    def questions(self, past: Past, now: Values, gaps: Values, starts: Values, known: Values) -> Questions:
        """Return the questions for scaled gaps (R, Q) after the cuts.

        Args:
            past: as in `anchors`, as is what follows.
            now: likewise.
            gaps: (R, Q).
            starts: likewise.
            known: (R, Q, K) the channels whose future is known, at the later times, NaN = not known.
        """
        times = now[:, None] + gaps * self.time_scale
        seasonal = np.full((*gaps.shape, len(self.standard.scale)), np.nan)
        if self.seasons.period is not None:
            seasonal = self.standard.to(past.seasonal(now, times, self.seasons.period))
        columns = (gaps, seasonal, self.seasons.phases(times, starts), np.nan_to_num(self.known.to(known)))
        return Questions(*(torch.from_numpy(np.ascontiguousarray(column, dtype=np.float32)) for column in columns))


class Lesson(NamedTuple):
    """The past up to R steps, and the measurements at these steps.

    Args:
        anchors: up to each step.
        value: (R, C) what was measured at it, NaN = nothing.
        known: (R, K) the newest values of channels whose future is known, in standard deviations, 0 where none is.
        seasons: (R, C, turns) what was newest 1, 2, … periods before it, NaN = nothing.
    """

    anchors: Anchors
    value: Tensor
    known: Tensor
    seasons: Tensor

    def pack(self) -> Tensor:
        """Return all as one tensor (R, W); `unpack` reads it."""
        return torch.cat([*self.anchors, self.value, self.known, self.seasons.flatten(1)], dim=1)

    @staticmethod
    def unpack(rows: Tensor, scene: Scene) -> Lesson:
        """Return the lesson of packed rows (..., W)."""
        C = len(scene.standard.scale)
        sizes = [*[C] * 6, scene.seasons.size, C, len(scene.known.scale)]
        *parts, seasons = torch.split(rows, [*sizes, rows.shape[-1] - sum(sizes)], dim=-1)
        return Lesson(
            Anchors(*parts[:7]), parts[7], parts[8], seasons.reshape(*seasons.shape[:-1], C, seasons.shape[-1] // C)
        )


def lesson_of(
    steps: SeriesSet, places: Sequence[int], scene: Scene, starts: Values, horizon: float, known: Sequence[int] = ()
) -> Tensor:
    """Return (N, W) the packed lesson of every step of a set.

    Args:
        steps: the series.
        places: positions of the C channels.
        scene: how they are read.
        starts: (S, cycles).
        horizon: how far ahead will be asked.
        known: positions of the channels whose future is known.
    """
    series = np.repeat(np.arange(len(steps)), steps.lengths)
    rows = np.arange(len(steps.times))
    past = Observations.of(steps, places).up_to(series, rows)
    newest = scene.known.to(Observations.of(steps, known).up_to(series, rows).last)
    period, C = scene.seasons.period, len(places)
    seasons = np.zeros((len(steps.times), C, 0))
    if period is not None:
        turns = np.arange(1, min(_TURNS, math.ceil(horizon / period)) + 1)
        back = past.at(steps.times[:, None] - turns * period)  # (N, turns, C)
        seasons = scene.standard.to(back).transpose(0, 2, 1)
    value = scene.standard.to(steps.values[:, list(places)])
    columns = (value, np.nan_to_num(newest), seasons)
    tensors = (torch.from_numpy(np.ascontiguousarray(each, dtype=np.float32)) for each in columns)
    return Lesson(scene.anchors(past, steps.times, starts[series]), *tensors).pack()


class Draw(NamedTuple):
    """k cuts of each of B series, and Q later steps of each cut.

    Args:
        cut: (B, k) the last step that is seen.
        asked: (B, k, Q) later steps.
        gap: (B, k, Q) scaled time from one to the other.
        some: (B, k) whether there is a later step within reach.
    """

    cut: Tensor
    asked: Tensor
    gap: Tensor
    some: Tensor

    @staticmethod
    def of(
        sample: SeriesBatch, k: int, Q: int, reach: float, random: bool, start: float = 0.0, power: float = 1.0
    ) -> Draw:
        """Choose cuts in each series and later steps after each cut, evenly, or at random within equal pieces.

        Args:
            sample: the series.
            k: most cuts of a series.
            Q: questions of a cut.
            reach: the largest scaled gap.
            random: whether to draw.
            start: the share of a series' steps before the first cut.
            power: 1 spreads the questions evenly over the steps within reach, more puts them nearer to the cut.
        """
        B, T = sample.dt.shape
        k = max(1, min(k, T - 1))
        pieces = drawn(lambda n: torch.rand(n, k), B) if random else torch.full((B, k), 0.5)
        share = start + (1.0 - start) * (torch.arange(k) + pieces) / k
        last = (sample.counts - 1).clamp(min=0).unsqueeze(1)  # no cut at the last step: nothing follows
        cut = torch.minimum((share * last).long(), (last - 1).clamp(min=0))
        clock = sample.intervals.double().cumsum(dim=1)
        now = clock.gather(1, cut)
        inside = torch.arange(T) < sample.counts.unsqueeze(1)
        ends = torch.searchsorted(clock.masked_fill(~inside, torch.inf), now + reach, right=True)  # (B, k)
        within = (ends - cut - 1).clamp(min=0)
        places = drawn(lambda n: torch.rand(n, k, Q), B) if random else torch.full((B, k, Q), 0.5)
        step = (((torch.arange(Q) + places) / Q) ** power * within.unsqueeze(-1)).long()
        asked = torch.minimum(cut.unsqueeze(-1) + 1 + step, last.unsqueeze(-1))
        gap = (clock.gather(1, asked.flatten(1)).view_as(asked) - now.unsqueeze(-1)).clamp(min=0).float()
        return Draw(cut, asked, gap, (within > 0) & (sample.counts.unsqueeze(1) > 1))


def answers_of(
    draw: Draw, sample: SeriesBatch, lesson: Tensor, scene: Scene
) -> tuple[Anchors, Questions, Tensor, Tensor]:
    """Return past and questions at the R = B·k cuts of a draw, (R, Q, C) the measurements, and whether they count.

    Args:
        draw: the cuts.
        sample: of the batch it was drawn from.
        lesson: (N, W) of the whole set.
        scene: how it was read.
    """
    C = len(scene.standard.scale)
    B, k, Q = draw.asked.shape
    first = sample.first.unsqueeze(1)
    at_cut = Lesson.unpack(lesson[(first + draw.cut).flatten()], scene)
    then = Lesson.unpack(lesson[(first.unsqueeze(-1) + draw.asked).view(B * k, Q)], scene)
    gap = draw.gap.view(B * k, Q)
    seasonal = torch.full_like(then.value, torch.nan)
    if then.seasons.shape[-1]:
        assert scene.seasons.period is not None
        turns = torch.ceil(gap * (scene.time_scale / scene.seasons.period) - 1e-6).long().clamp(min=1) - 1
        place = turns.clamp(max=then.seasons.shape[-1] - 1)[..., None, None].expand(-1, -1, C, 1)
        newest = then.seasons.gather(-1, place).squeeze(-1)
        seasonal = torch.where((turns < then.seasons.shape[-1]).unsqueeze(-1), newest, seasonal)
    counts = torch.isfinite(then.value) & draw.some.view(B * k, 1, 1)
    return at_cut.anchors, Questions(gap, seasonal, then.anchors.phase, then.known), then.value, counts
