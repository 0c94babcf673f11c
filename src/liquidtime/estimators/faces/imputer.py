from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from liquidtime.data import SeriesSet
from liquidtime.data.container import moving_together
from liquidtime.data.encoding.alignment import aligned
from liquidtime.data.encoding.future_times import last_times
from liquidtime.estimators.faces.forecaster import CfCForecaster
from liquidtime.estimators.forecast import PARTS, fit_blend, forecast_folds
from liquidtime.estimators.forecast.answers import Forecast, check_level
from liquidtime.estimators.forecast.blend import Blend
from liquidtime.estimators.forecast.both_directions import (
    BETWEEN,
    BOTH,
    NAMES,
    NEAREST,
    REVERSED,
    WHOLE,
    Side,
    both_directions,
    filled,
    hidden,
    pieces_of,
)
from liquidtime.estimators.forecast.network import LAST
from liquidtime.estimators.forecast.stored import read_blend, stored_blend
from liquidtime.estimators.network.finite import finite
from liquidtime.estimators.network.inputs import as_series
from liquidtime.estimators.network.members import groups_of
from liquidtime.training.seeds import derive_seed

Values = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
_QUESTIONS = 1 << 16
"""Times that are answered at once, of whole series."""


class CfCImputer(CfCForecaster):
    """Fill gaps of irregular series at any time, from the samples before it and from those after it.

        model = CfCImputer(random_state=0).fit(data)
        model.impute(data)                        the set with all missing values of the targets filled in
        model.predict(data, times, intervals=0.9) value, low, high at any times

    One ensemble of networks learns to forecast series in both directions of time. At a time t, the forecast from the
    samples before it and the one from the samples after it are averaged, weighted by one over the square of their
    expected errors, so that the result tends to a measured value as t approaches its time. This is mixed with the
    nearest value, the linear interpolation and the mean of the series; the weights depend on the channel and on the
    distance to the nearest value. They and the prediction intervals are chosen on a fifth of the series that no network
    has seen, with some of their values hidden.

    Arguments and attributes are those of `CfCForecaster`; there are no `known` channels and no bins.

    Attributes:
        gap_blend_: weights and error quantiles of the mixture that fills gaps.
        held_out_: mean squared errors on the hidden values, in standard deviations, for each part; "mixture" is the
            whole model.
    """

    _kind: ClassVar[str] = "CfCImputer"
    _purpose: ClassVar[str] = "fills gaps of irregular series at any time"
    gap_blend_: Blend
    held_out_: dict[str, float]

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.known:
            raise ValueError("`known` is for forecasts: to fill gaps, all channels are used before and after them")
        if self.bin_width is not None:
            raise ValueError("`bin_width` must be None to fill gaps: times are not put into bins")

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on series X; one long series is enough.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values), with gaps or without.
            y: ignored; the series are their own targets.
            groups: (S,) group of each series; a group is held out as a whole. None holds out together series that move
                together.
            folder: folder for checkpoints and the log of the run.
            resume: resume the run in `folder`.

        Raises:
            ValueError: series with too few samples to hold some out, no channel that is a number, wrong settings.

        """
        data = as_series(self, X, reset=True)
        given = groups_of(groups, len(data))
        pieces, owner = pieces_of(data)
        codes = moving_together(data) if given is None else np.unique(given, return_inverse=True)[1]
        codes = np.arange(len(pieces)) if codes is None else codes[owner]
        if int((pieces.lengths >= 2).sum()) < 2:
            raise ValueError("`X` must have at least two series of two samples, or one long series; got fewer")
        seed = 0 if self.random_state is None else self.random_state
        fold = forecast_folds(pieces, 1, seed if isinstance(seed, int) else 0, groups=codes)[0]
        seen = np.flatnonzero(fold.until > 0)
        twice = np.concatenate([codes[seen], codes[seen]])
        several = {"groups": twice} if len(np.unique(twice)) > 1 else {}
        super().fit(both_directions(pieces[seen]), folder=folder, resume=resume, **several)
        held = self._in_training_form(pieces[fold.held])
        gone = hidden(held, self._places, derive_seed(self.seed_, 23) % 2**31)
        values = held.values.copy()
        values[:, self._places] = np.where(gone, np.nan, values[:, self._places])
        rows = np.flatnonzero(gone.any(axis=1))
        series = np.repeat(np.arange(len(held)), held.lengths)[rows]
        parts, near = self._parts_at(held.replace_unchecked(values=values), series, held.times[rows])
        truth = np.where(gone[rows], self._scene.standard.to(held.values[rows][:, self._places]), np.nan)
        self.gap_blend_ = fit_blend(parts, truth, near, fold.units, NAMES)
        known = ~np.isnan(truth)
        said = {name: parts[..., j] for j, name in enumerate((BOTH, NEAREST, BETWEEN, WHOLE))}
        said["mixture"] = self.gap_blend_.mix(parts, near)
        self.held_out_ = {
            name: float(((each - truth)[known] ** 2).mean()) if known.any() else float("nan")
            for name, each in said.items()
        }
        self.n_series_ = len(data)
        return self

    def refit(self, X: Any, y: Any = None, **fit: Any) -> Self:
        """Train again on other series, and repeat all choices; arguments as in `fit`."""
        return self.fit(X, y, **fit)

    def predict(self, X: Any, times: Any = None, *, horizons: None = None, intervals: float | None = None) -> Any:
        """Return the values of the targets at any times.

        Args:
            X: the series, with gaps.
            times: (Q,) for all series, (S, Q), or a list of S arrays (Q_i,), numbers on the clock of each series; None
                for the times of their samples, as a list.
            horizons: must be None; use `times` for values after the end.
            intervals: share of the values that prediction intervals should contain, in (0, 1), such as 0.9.

        Returns:
            (S, Q, C), or a list of (Q_i, C) for a list; with `intervals`, a `Forecast` of three such arrays. A value
            that was measured at one of the times is returned unchanged.

        """
        check_level(intervals)
        if horizons is not None:
            raise ValueError("`horizons` are for forecasts; to fill gaps give `times`")
        data = self._in_training_form(as_series(self, X, reset=False))
        asked = self._times_of(data, times)
        sizes = [len(row) for row in asked]
        series, at = np.repeat(np.arange(len(data)), sizes), np.concatenate([*asked, np.zeros(0)])
        columns: list[list[Values]] = [[] for _ in range(1 if intervals is None else 3)]
        for begin, end in _blocks(sizes):
            rows = slice(int(sum(sizes[:begin])), int(sum(sizes[:end])))
            answers = self._filled_at(data[np.arange(begin, end)], series[rows] - begin, at[rows], intervals)
            for column, answer in zip(columns, answers, strict=True):
                column.append(answer)
        ends = np.cumsum(sizes)[:-1]
        split = [np.split(np.concatenate(column), ends) for column in columns]
        ragged = times is None or (isinstance(times, list) and bool(times) and np.ndim(times[0]) == 1)
        shaped = split if ragged else [np.stack(rows) for rows in split]
        return shaped[0] if intervals is None else Forecast(*shaped)

    def impute(self, X: Any) -> SeriesSet:
        """Return the set with all missing values of the targets filled in; measured values are unchanged.

        Args:
            X: the series, with gaps.
        """
        data = as_series(self, X, reset=False)
        said = np.concatenate([*self.predict(data), np.zeros((0, len(self.channels_)))])
        places = [data.channels.index(channel) for channel in self.channels_ if channel in data.channels]
        use = [k for k, channel in enumerate(self.channels_) if channel in data.channels]
        values = data.values.copy()
        values[:, places] = np.where(np.isnan(values[:, places]), said[:, use], values[:, places])
        return data.replace_unchecked(values=values)

    def forecast(self, *arguments: Any, **options: Any) -> Any:
        """Refuse: a live series has no samples after the gap."""
        raise ValueError("live series have no samples after a gap; use a forecaster for them")

    def _in_training_form(self, data: SeriesSet) -> SeriesSet:
        """Return series with the columns of training, without the direction of time."""
        check_is_fitted(self, "networks_")
        encoder = self.encoder_
        names = tuple(name for name in encoder.static_names_ if name != REVERSED)
        return aligned(data, encoder.channels_, names, encoder.categories_, encoder.time_unit_)

    def _times_of(self, data: SeriesSet, times: Any) -> list[Values]:
        """Return for each series the times asked for."""
        if times is None:
            return [series.times for series in data]
        rows = times if isinstance(times, list) and times and np.ndim(times[0]) == 1 else None
        if rows is None:
            array = np.asarray(times, dtype=np.float64)
            if array.ndim not in (1, 2) or (array.ndim == 2 and len(array) != len(data)):
                raise ValueError(f"`times` must be (Q,) or (S, Q) with S = {len(data)}, or a list; got {array.shape}")
            rows = list(np.broadcast_to(array, (len(data), array.shape[-1])))
        if len(rows) != len(data):
            raise ValueError(f"`times` must have one array per series, {len(data)}; got {len(rows)}")
        asked = [np.asarray(row, dtype=np.float64) for row in rows]
        if not all(np.isfinite(row).all() for row in asked):
            raise ValueError("`times` must be finite numbers; some are not")
        return asked

    def _filled_at(self, data: SeriesSet, series: Rows, times: Values, intervals: float | None) -> list[Values]:
        """Return (R, C) values, and where asked for the ends of their intervals, in the channels' own units."""
        if len(times) == 0:
            return [np.zeros((0, len(self.channels_)))] * (1 if intervals is None else 3)
        parts, near = self._parts_at(data, series, times)
        mixed = self.gap_blend_.mix(parts, near)
        answers = [mixed]
        for level in () if intervals is None else ((1 - intervals) / 2, (1 + intervals) / 2):
            answers.append(mixed + self.gap_blend_.error(parts, near, level))
        measured = self._measured_at(data, series, times)
        own = (finite(self._scene.standard.back(answer)) for answer in answers)
        return [np.where(np.isnan(measured), answer, measured) for answer in own]

    def _measured_at(self, data: SeriesSet, series: Rows, times: Values) -> Values:
        """Return (R, C) what was measured at exactly these times, NaN = nothing."""
        measured = np.full((len(times), len(self._places)), np.nan)
        steps = _newest(data, series, times)
        there = np.flatnonzero(steps >= 0)
        there = there[data.times[steps[there]] == times[there]]
        measured[there] = data.values[steps[there]][:, self._places]
        return measured

    def _parts_at(self, data: SeriesSet, series: Rows, times: Values) -> tuple[Values, Values]:
        """Return (R, C, J) values of the parts at rising times of series, and the distance to the nearest value."""
        S, C = len(data), len(self._places)
        both = both_directions(data)
        before = self._side(both[np.arange(S)], series, times)
        after = self._side(both[np.arange(S, 2 * S)], series, last_times(data)[series] - times)
        values = self._scene.standard.to(data.values[:, self._places])
        owner = np.repeat(np.arange(S), data.lengths)
        known = ~np.isnan(values)
        count, total = np.zeros((S, C)), np.zeros((S, C))
        np.add.at(count, owner, known)
        np.add.at(total, owner, np.where(known, values, 0.0))
        means = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
        return filled(before, after, means[series])

    def _side(self, data: SeriesSet, series: Rows, times: Values) -> Side:
        """Return the forecasts for some times of series from the samples up to them."""
        R, C = len(series), len(self._places)
        steps = _newest(data, series, times)
        some = np.flatnonzero(steps >= 0)
        said, size, last, ago = (np.zeros((R, C)) for _ in range(4))
        known = np.zeros((R, C), dtype=bool)
        if len(some):
            parts, since, seen, _ = self._said_after(data, series[some], steps[some], times[some])
            said[some], size[some] = self.blend_.mix(parts, since)[:, 0], self.blend_.size(parts, since)[:, 0]
            last[some], ago[some] = parts[:, 0, :, PARTS.index(LAST)], since[:, 0]
            known[some] = seen.past.select(channels=seen.targets).known
        return Side(said, size, last, ago, known)

    def _learned(self) -> dict[str, Any]:
        return super()._learned() | {"gap_blend": stored_blend(self.gap_blend_), "held_out": self.held_out_}

    def _relearn(self, facts: Mapping[str, Any]) -> int:
        outputs = super()._relearn(facts)
        if self._carried is not None or REVERSED not in self.encoder_.static_names_:
            raise ValueError("the model has no direction of time; it is not an imputer")
        self.gap_blend_ = read_blend(facts["gap_blend"], len(self.channels_), NAMES)
        self.held_out_ = {str(name): float(value) for name, value in facts["held_out"].items()}
        return outputs


def _newest(data: SeriesSet, series: Rows, times: Values) -> Rows:
    """Return (R,) the positions of the last steps of series at or before times, -1 where there is none."""
    first, after = data.offsets[series].copy(), data.offsets[series + 1].copy()
    begin = first.copy()
    while (first < after).any():
        middle = (first + after) // 2
        early = data.times[np.minimum(middle, len(data.times) - 1)] <= times
        going = first < after
        first, after = np.where(going & early, middle + 1, first), np.where(going & ~early, middle, after)
    return np.where(first > begin, first - 1, -1)


def _blocks(sizes: list[int]) -> list[tuple[int, int]]:
    """Return ranges of series whose questions together are few enough to be answered at once."""
    blocks, begin, count = [], 0, 0
    for place, size in enumerate(sizes):
        if count + size > _QUESTIONS and place > begin:
            blocks.append((begin, place))
            begin, count = place, 0
        count += size
    return [*blocks, (begin, len(sizes))]
