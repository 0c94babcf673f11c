"""Features for forecasts by trees and linear models: of the past up to a cut, and of the requested time."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.classical import LINE
from liquidtime.data import SeriesSet
from liquidtime.data.encoding.observations import Observations, Past
from liquidtime.estimators.forecast.lesson import TREND, Scene
from liquidtime.estimators.forecast.network import STEEPEST
from liquidtime.estimators.forecast.season import Seasons
from liquidtime.estimators.forecast.seen import Seen

Values = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
_SLOPES = (LINE, TREND, 8.0)
"""Smallest age of the older values of slopes, in median intervals."""
_SPANS = (3.0, 12.0, 48.0)
"""Lengths of running statistics in median intervals."""
_TURNS = 7
"""Number of past periods in the mean of a phase."""
_LINES = 16
"""Largest number of channels with which every target gets the straight-line forecasts of all channels."""
_DIGITS = 5
"""Rounding of features, so that sums in a different order give equal numbers."""


@dataclass(frozen=True, eq=False)
class LagFeatures:
    """The definition of the features; those of one target form a table with one row per pair of a cut and a later time.

    Args:
        places: positions of the D channels that are read, all that are numbers.
        targets: positions of the C targets among these.
        centre: (D,) training means.
        scale: (D,) training deviations.
        known: positions of the K channels whose future is known, in the data.
        scene: of the forecaster.
    """

    places: tuple[int, ...]
    targets: tuple[int, ...]
    centre: Values
    scale: Values
    known: tuple[int, ...]
    scene: Scene

    @property
    def seasons(self) -> Seasons:
        """Cycles and period."""
        return self.scene.seasons

    @property
    def time_scale(self) -> float:
        """The median interval."""
        return self.scene.time_scale

    def widths(self, static: int) -> tuple[int, int]:
        """Return the number of features of a table with this many static ones, and the number of the target's own."""
        season, phases = 3 if self.seasons.period is not None else 0, self.seasons.size
        own = 3 + len(_SLOPES) + 3 * len(_SPANS) + 2 + len(_SLOPES) + season + phases + len(self.known)
        channels = len(self.places) * (3 if self.lines else 2)
        return own + phases + static + len(self.known) + channels, own

    @property
    def lines(self) -> bool:
        """Whether targets get the straight-line forecasts of other channels."""
        return len(self.places) <= _LINES

    def at_ends(self, context: Seen) -> Cuts:
        """Return the ends of series as cuts."""
        known = self.scene.known.to(context.known)
        past = context.past.scaled(self.centre, self.scale)
        return Cuts(self, past, context.now, context.starts, context.static, known)

    def at_steps(self, steps: SeriesSet, rows: Rows, starts: Values, static: Values) -> Cuts:
        """Return cuts after steps of a set.

        Args:
            steps: the series.
            rows: (R,) positions among all steps.
            starts: (S, cycles) as `Seasons.phases` takes it.
            static: (S, F) encoded static features.
        """
        series = np.searchsorted(steps.offsets, rows, side="right") - 1
        past = Observations.of(steps, self.places).scaled(self.centre, self.scale).up_to(series, rows)
        known = self.scene.known.to(Observations.of(steps, self.known).up_to(series, rows).last)
        now = steps.times[rows]
        return Cuts(self, past, now, starts[series], static[series], known)

    def known_later(self, steps: SeriesSet, series: Rows, times: Values) -> Values:
        """Return (n, K) the newest values of known channels of series (n,) by times (n,), in standard deviations."""
        past = Observations.of(steps, self.known).at_ends(steps).select(series)
        return self.scene.known.to(past.at(times[:, None])[:, 0]) if self.known else np.zeros((len(times), 0))

    @property
    def reach(self) -> float:
        """Length of the past that they use, except for the mean so far, which uses all."""
        spans = [max(_SPANS) * self.time_scale, max(_SLOPES) * self.time_scale]
        if self.seasons.period is not None:
            spans.append((_TURNS + 1) * self.seasons.period + self._near)
        return max(spans)

    @property
    def _near(self) -> float:
        """Largest distance from a phase that counts as this phase."""
        assert self.seasons.period is not None
        return min(2 * self.time_scale, self.seasons.period / 8)


@dataclass(frozen=True, eq=False)
class Cuts:
    """R cuts of series, in the form for the features.

    Args:
        features: which.
        past: what was observed of all D channels that are read, in standard deviations.
        now: (R,) the times of the cuts.
        starts: (R, cycles) as `Seasons.phases` takes it.
        static: (R, F) encoded static features.
        known: (R, K) the newest values of channels whose future is known, in standard deviations; NaN = none yet.
    """

    features: LagFeatures
    past: Past
    now: Values
    starts: Values
    static: Values
    known: Values

    @functools.cached_property
    def _last(self) -> Values:
        return self.past.last

    @functools.cached_property
    def _slopes(self) -> list[Values]:
        """(R, D) each: per median interval."""
        scale = self.features.time_scale
        return [self.past.slope(width * scale) * scale for width in _SLOPES]

    @functools.cached_property
    def _windows(self) -> list[tuple[Values, Values, Values]]:
        return [self.past.window(self.now, span * self.features.time_scale) for span in _SPANS]

    @functools.cached_property
    def _since(self) -> Values:
        """(R, D) in median intervals, NaN where there is no value yet."""
        return (self.now[:, None] - self.past.last_time) / self.features.time_scale

    @functools.cached_property
    def _everywhere(self) -> Values:
        """(R, …) the features that all targets share."""
        phases = self.features.seasons.phases(self.now, self.starts)
        return np.concatenate([phases, self.static, self.known, self._last, self._slopes[1]], axis=1)

    def last(self, target: int) -> Values:
        """Return (R,) the newest values of a target, in standard deviations; 0 where there is none."""
        return np.nan_to_num(self._last[:, self.features.targets[target]])

    def since(self, target: int, rows: Rows, times: Values) -> Values:
        """Return (n,) median intervals from the newest value of a target to later times; infinite without a value.

        Args:
            target: its position among the targets.
            rows: (n,) cuts.
            times: (n,) the later times.
        """
        last = np.nan_to_num(self.past.last_time[:, self.features.targets[target]], nan=-np.inf)
        since: Values = np.maximum((times - last[rows]) / self.features.time_scale, 0.0)
        return since

    def table(self, target: int, rows: Rows, times: Values, known: Values) -> tuple[Values, int]:
        """Return (n, p) the features of one target, NaN where undefined, and how many of the first are its own.

        Args:
            target: its position among the targets.
            rows: (n,) cuts.
            times: (n,) the later times.
            known: (n, K) the channels whose future is known, at those times.
        """
        features, place = self.features, self.features.targets[target]
        seasons, scale = features.seasons, features.time_scale
        last, since = self._last[:, place], self._since[:, place]
        mean = self.past.mean[:, place]
        own = [last, mean - last, np.log1p(since), *(slopes[:, place] for slopes in self._slopes)]
        for average, spread, count in self._windows:
            own += [average[:, place] - last, spread[:, place], np.log1p(count[:, place])]
        seen = np.stack(own, axis=1)[rows]
        now, past = self.now[rows], self.past.select(rows, [place])
        gap = (times - now) / scale
        s = gap + since[rows]
        lines = [np.clip(slopes[rows, place] * s, -STEEPEST, STEEPEST) for slopes in self._slopes]
        asked = [np.log1p(gap), np.log1p(s), *lines]
        if seasons.period is not None:
            typical = past.typical(now, times[:, None], seasons.period, _TURNS, features._near)[:, 0, 0]
            season = past.seasonal(now, times[:, None], seasons.period)[:, 0, 0]
            then = np.where(np.isnan(past.last_time[:, 0]), now, past.last_time[:, 0])
            usual = past.typical(now, then[:, None], seasons.period, _TURNS, features._near)[:, 0, 0]
            asked += [typical - last[rows], season - last[rows], typical - usual]
        ahead = np.concatenate(
            [np.stack(asked, axis=1), seasons.phases(times[:, None], self.starts[rows])[:, 0], known], axis=1
        )
        beside = [self._everywhere[rows]]
        if features.lines:
            ages = gap[:, None] + self._since[rows]
            beside.append(self._last[rows] + np.clip(self._slopes[-1][rows] * ages, -STEEPEST, STEEPEST))
        whole = np.concatenate([seen, ahead, *beside], axis=1)
        return np.round(whole, _DIGITS), seen.shape[1] + ahead.shape[1]
