"""A fitted forecaster as a step from sample to sample, with forecasts for requested times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from liquidtime.baselines.classical import LINE
from liquidtime.data import SeriesSet
from liquidtime.estimators import CfCForecaster
from liquidtime.estimators.forecast import TREND, ForecastNetwork
from liquidtime.estimators.forecast.lesson import Standard
from liquidtime.estimators.forecast.network import Anchors, Questions, parts_of
from liquidtime.estimators.forecast.season import HARMONICS, Seasons
from liquidtime.export.blend_step import BlendStep
from liquidtime.export.encoding_step import Fields
from liquidtime.export.layout import Field
from liquidtime.export.recent_step import Newest, RecentStep
from liquidtime.export.step import FlatState, Step

FEWEST, MOST = 16, 8192
"""Number of values of a channel that are stored."""


def capacity_for(model: CfCForecaster, data: SeriesSet | None) -> int:
    """Return how many values per channel to store: twice as many as usual within its reach, or as many as data need.

    Args:
        model: fitted forecaster.
        data: series, or None.
    """
    usual = math.ceil(2.0 * model._reach / model.encoder_.time_scale_) + 8
    if data is not None:
        usual = max(usual, 2 + _most_within(model.encoder_.steps(data), model._places, model._reach))
    return int(np.clip(usual, FEWEST, MOST))


def _most_within(steps: SeriesSet, places: Sequence[int], reach: float) -> int:
    """Return the largest number of values that a channel has within the time `reach`."""
    most = 0
    for begin, end in zip(steps.offsets[:-1].tolist(), steps.offsets[1:].tolist(), strict=True):
        for place in places:
            times = steps.times[begin:end][~np.isnan(steps.values[begin:end, place])]
            within = np.arange(len(times)) - np.searchsorted(times, times - reach) + 1
            most = max(most, int(within.max(initial=0)))
    return most


class ForecastStep(Step):
    """A forecaster; its outputs are the C forecasts, and the C lower and C upper ends of their intervals.

    Args:
        model: fitted forecaster.
        capacity: number of stored values per channel.
    """

    calendar = False

    def __init__(self, model: CfCForecaster, capacity: int) -> None:
        scene = model._scene
        self._capacity, self._reach, self._farthest = capacity, model._reach, model._farthest
        self._scene, self.horizon, self._seasons = scene, model.horizon_, scene.seasons
        self.known_channels = [model.encoder_.channels_[place] for place in model._known]
        self._target_places, self._known_places = list(model._places), list(model._known)
        super().__init__(cast(Any, model))
        self.blend = BlendStep(model.blend_)
        self.standard, self.known_standard = StandardStep(scene.standard), StandardStep(scene.known)
        self.phases = PhaseStep(scene.seasons)
        self.calendar = scene.seasons.calendar and len(scene.seasons.cycles) > 0

    def _add_fields(self) -> None:
        super()._add_fields()
        self.recent = RecentStep(self.layout, self._target_places, self._capacity, self._reach)
        self.clock: dict[str, Field] = {}
        if self._seasons.calendar and self._seasons.cycles:
            text = "the time zero of the series, in time units since 1970-01-01T00:00 UTC, where its times are dated"
            self.clock = {
                "origin": self.layout.add("origin", "double", 1, text),
                "dated": self.layout.add("dated", "double", 1, "1 if they are"),
            }

    def _take_outputs(self, model: Any) -> None:
        self.task = "forecasting"
        names = list(model.channels_)
        self.targets = names
        self.output_names = [
            f"{which} of {name!r}" for which in ("forecast", "lower end", "upper end") for name in names
        ]
        self.outputs = len(self.output_names)
        self.spread = np.tile(model._scene.standard.scale, 3)

    def _further(self, state: FlatState, opens: Tensor) -> list[tuple[dict[str, Field], Fields]]:
        fields, own = self._fields(state, self._scales()[0].fields), self._fields(state, self.recent.fields)
        closed = opens & (fields["seen"] > 0)
        after = self.recent.advance(own, fields["latest"], closed, fields["step"], fields["number"])
        parts = [(self.recent.fields, after)]
        if self.clock:
            parts.append((self.clock, self._fields(state, self.clock)))
        return parts

    def ask(
        self,
        state: FlatState,
        static: Tensor,
        known: Tensor,
        t: Tensor,
        future: Tensor,
        given: Tensor,
        coverage: Tensor,
    ) -> Tensor:
        """Return (B, 3C) float64 forecasts of the targets, then the lower, then the upper ends of their intervals.

        Args:
            state: state after at least one sample.
            static: as in `read`.
            known: as in `read`.
            t: (B,) float64 requested times, not before the newest sample.
            future: (B, K) float32 values of the known channels at those times.
            given: (B, K) bool, True for the channels in `future` that are set; the others remain unchanged.
            coverage: (B,) float64 fraction of values that the intervals should contain.
        """
        scale, scene = self._scales()[0], self._scene
        fields = self._fields(state, scale.fields)
        seen, last_all = fields["seen"] > 0, fields["latest"]
        known_all = seen | (fields["number"] > 0)
        here = Newest(
            *(
                part[:, self.recent.places]
                for part in (
                    last_all,
                    torch.where(seen, fields["step"], fields["carried_at"]),
                    known_all,
                    seen,
                    fields["number"] + seen.double(),
                )
            )
        )
        now, when = fields["step"], t.unsqueeze(-1)
        clock = self._fields(state, self.clock)
        gap = ((when - now) / scene.time_scale).clamp(min=0.0, max=self._farthest).float()  # (B, 1)
        anchors = self._anchors(self._fields(state, self.recent.fields), here, now, clock)
        questions = self._questions(state, here, now, when, gap, clock, future, given, last_all, known_all)
        opened = (scale.read(fields), fields["steps"])
        encoded = self.static(static, known) if self.static.size else static.new_zeros(len(static), 0)
        said = []
        for member, network in zip(self._members(), self.networks, strict=True):
            context = member.read(self._fields(state, member.fields), *opened, encoded)
            said.append(cast(ForecastNetwork, network).decode(context, anchors, questions))
        mean = torch.stack(said, dim=1).sum(dim=1) / len(said)  # (B, 1, C)
        parts = parts_of(mean, anchors, questions).double()[:, 0]  # (B, C, J)
        since = (anchors.since.unsqueeze(1) + questions.gap.unsqueeze(-1)).double()[:, 0]
        return torch.cat([self.standard.back(part) for part in self.blend(parts, since, coverage)], dim=-1)

    def _anchors(self, own: Fields, here: Newest, now: Tensor, clock: Fields) -> Anchors:
        scale, zero = self._scene.time_scale, torch.zeros((), dtype=torch.float64)
        since = torch.where(here.known, (now - here.time) / scale, zero).clamp(min=0.0)
        total = own["total"] + torch.where(here.open, here.value.double(), zero)
        mean = self.standard.standardised(total / here.number.clamp(min=1.0))
        slopes = [self.recent.slope(own, here, width * scale) * scale / self.standard.scale for width in (LINE, TREND)]
        columns = (
            torch.where(here.known, self.standard.standardised(here.value.double()), zero),
            here.known,
            since,
            torch.where(here.known, mean, zero),
            *slopes,
            self.phases(now, clock),
        )
        return Anchors(*(column.float() for column in columns))

    def _questions(
        self,
        state: FlatState,
        here: Newest,
        now: Tensor,
        when: Tensor,
        gap: Tensor,
        clock: Fields,
        future: Tensor,
        given: Tensor,
        last: Tensor,
        known: Tensor,
    ) -> Questions:
        zero, period = torch.zeros((), dtype=torch.float64), self._seasons.period
        value = torch.where(here.known, self.standard.standardised(here.value.double()), zero)
        if period is not None:
            turns = (-torch.floor(-((when - now) / period))).clamp(min=1.0)
            back = torch.minimum(when - turns * period, now)
            then, some = self.recent.at(self._fields(state, self.recent.fields), here, back)
            value = torch.where(some, self.standard.standardised(then), value)
        beside = future.new_zeros(len(future), 1, 0)
        if self._known_places:
            newest, any_yet = last[:, self._known_places], known[:, self._known_places]
            standard = self.known_standard.standardised(torch.where(given, future, newest).double())
            beside = torch.where(given | any_yet, standard, zero).float().unsqueeze(1)
        return Questions(gap, value.float().unsqueeze(1), self.phases(when, clock).unsqueeze(1), beside)


class StandardStep(nn.Module):
    """`Standard` in torch."""

    centre: Tensor
    scale: Tensor
    positive: Tensor

    def __init__(self, standard: Standard) -> None:
        super().__init__()
        self.register_buffer("centre", torch.from_numpy(standard.centre.copy()))
        self.register_buffer("scale", torch.from_numpy(standard.scale.copy()))
        self.register_buffer("positive", torch.from_numpy(standard.positive.copy()))

    def standardised(self, values: Tensor) -> Tensor:
        """Return float64 values (..., C) in standard deviations."""
        return (values - self.centre) / self.scale

    def back(self, standard: Tensor) -> Tensor:
        """Return values (..., C) in their own units."""
        values = standard * self.scale + self.centre
        return torch.where(self.positive, values.clamp(min=0.0), values)


class PhaseStep(nn.Module):
    """`Seasons.phases` in torch."""

    moments: Tensor
    jumps: Tensor

    def __init__(self, seasons: Seasons) -> None:
        super().__init__()
        self.seasons = seasons
        if seasons.clock is not None:
            clock = seasons.clock
            jumps = np.diff(np.array(clock.offsets)) * seasons.second
            self.register_buffer("moments", torch.tensor(clock.moments, dtype=torch.float64) * seasons.second)
            self.register_buffer("jumps", torch.from_numpy(jumps))
            self.first = clock.offsets[0] * seasons.second

    def forward(self, times: Tensor, clock: Fields) -> Tensor:
        """Return (B, size) sine and cosine of the phases of times (B, 1), 0 if the calendar is unknown."""
        parts = []
        if self.seasons.clock is not None:
            since = times + clock["origin"]
            passed = torch.where(since >= self.moments, self.jumps, torch.zeros((), dtype=torch.float64))
            times = times + (self.first + passed.sum(dim=-1, keepdim=True))
        for cycle in self.seasons.cycles:
            at = times - torch.floor(times / cycle) * cycle
            if self.seasons.calendar:
                at = at + (clock["origin"] - torch.floor(clock["origin"] / cycle) * cycle)
            for k in range(1, HARMONICS + 1):
                turn = k * (at / cycle)
                angle = ((turn - torch.floor(turn + 0.5)) * (2.0 * math.pi)).float()  # (B, 1), in -π…π
                parts += [torch.sin(angle), torch.cos(angle)]
        if not parts:
            return times.new_zeros(len(times), 0, dtype=torch.float32)
        phases = torch.cat(parts, dim=-1)
        return torch.where(clock["dated"] > 0, phases, torch.zeros(())) if self.seasons.calendar else phases
