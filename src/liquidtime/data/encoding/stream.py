"""One series, encoded as its samples arrive."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import as_ticks
from liquidtime.data.encoding.bins import bin_of
from liquidtime.data.encoding.carry import since_feature
from liquidtime.data.reading import label_of
from liquidtime.errors import nearest, wrong_shape

if TYPE_CHECKING:
    from liquidtime.data.encoding.encoder import SeriesEncoder

_EXACT = 2**53


class _Mean:
    """The mean of what was observed of each of C channels; of a categorical one, the last."""

    def __init__(self, categorical: npt.NDArray[np.bool_]) -> None:
        self.categorical = categorical
        self.total = np.zeros(len(categorical))
        self.count = np.zeros(len(categorical), dtype=np.int64)

    def add(self, values: npt.NDArray[np.float32]) -> None:
        seen = ~np.isnan(values)
        replaced = seen & self.categorical
        self.total[replaced] = 0.0
        self.count[replaced] = 0
        self.total[seen] += values[seen]
        self.count[seen] += 1

    def with_added(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return (C,) the mean if `values` were added too, NaN where nothing was observed."""
        copy = _Mean(self.categorical)
        copy.total[:], copy.count[:] = self.total, self.count
        copy.add(values)
        mean = np.where(copy.count > 0, copy.total / np.maximum(copy.count, 1), np.nan)
        return mean.astype(np.float32)


class SeriesStream:
    """Encodes one series sample by sample, with the numbers that `SeriesEncoder.transform` gives for the whole.

    Samples at one time, and with `bin_width` those in one bin, are one step. While it is open, each update returns
    the step as it stands with the values so far and sets `revises`: the caller then takes the step again from the
    state before it. The last update of a step equals the step of the whole.

    Attributes:
        static: (F,) float32 encoded static features.
        revises: whether the last update replaced the step before it instead of adding one.
    """

    def __init__(self, encoder: SeriesEncoder, static: Mapping[str, Any] | None = None) -> None:
        self.encoder = encoder
        self.revises = False
        C = len(encoder.channels_)
        self._categorical = np.array([name in encoder.categories_ for name in encoder.channels_], dtype=bool)
        self._layout = encoder.layout_
        names = encoder.channels_ if "values" in encoder.blocks else ()
        self._numeric = [self._layout.value[name].start for name in names if name not in encoder.categories_]
        given = self._numbers(static or {}, encoder.static_names_, "static")
        self.static = encoder.encode_static(given[None])[0]
        self._origin: Any = None
        self._time: float | None = None  # of the newest sample
        self._at_time = _Mean(self._categorical)
        self._in_bin = _Mean(self._categorical)
        self._step: float | None = None  # time of the open step
        self._before: float | None = None  # time of the step before it
        self._first = 0.0  # time of the first step
        self._now = np.full(C, np.nan, dtype=np.float32)  # the open step
        self._carried = np.full(C, np.nan, dtype=np.float32)  # last observations before the open step
        self._when = np.full(C, np.nan)  # and their times

    def update(self, t: Any, values: Any) -> tuple[npt.NDArray[np.float32], np.float32]:
        """Take a sample.

        Args:
            t: its time, a number in the encoder's unit or a time stamp, not before the one before.
            values: a mapping from channel names to values, or (C,) in the order of the encoder's `channels_`,
                categories by their position; NaN, None and channels left out are not observed.

        Returns:
            (D,) the input and the scaled time since the previous step; see `revises`.

        Raises:
            ValueError: an earlier or infinite time, an infinite value, an unknown channel.

        """
        row = self._row(values)
        time = self._relative(t)
        if self._time is not None and time < self._time:
            raise ValueError(f"`t` must not be before the sample before it, at {self._time}; got {time}")
        if self._time is not None and time > self._time:
            self._in_bin.add(self._at_time.with_added(np.full_like(row, np.nan)))
            self._at_time = _Mean(self._categorical)
        self._time = time
        width = self.encoder.bin_width
        step = float(bin_of(np.float64(time), width)) * width if width else time  # type: ignore[arg-type]
        self.revises = step == self._step
        if not self.revises:
            self._close(step)
        self._at_time.add(row)
        self._now = self._in_bin.with_added(self._at_time.with_added(np.full_like(row, np.nan)))
        return self._encode()

    @property
    def now(self) -> npt.NDArray[np.float32]:
        """(C,) the values of the open step as they stand, NaN = not observed."""
        return self._now

    @property
    def time(self) -> float | None:
        """The time of the open step in the encoder's unit, as a whole set would store it; None before the first."""
        return self._step

    def _close(self, step: float) -> None:
        """Close the open step and open one at `step`."""
        if self._step is None:
            self._first = step
        else:
            seen = ~np.isnan(self._now)
            self._carried[seen] = self._now[seen]
            self._when[seen] = self._step
        self._before, self._step = self._step, step
        self._in_bin = _Mean(self._categorical)

    def _encode(self) -> tuple[npt.NDArray[np.float32], np.float32]:
        encoder, step = self.encoder, self._step
        assert step is not None
        layout = self._layout
        seen = ~np.isnan(self._now)
        carried = np.where(seen, self._now, self._carried)
        x = np.zeros(len(layout.inputs), dtype=np.float32)
        if "values" in encoder.blocks:
            x[self._numeric] = np.nan_to_num(encoder.scaling_.row(carried)[~self._categorical], nan=0.0)
            for place in np.flatnonzero(self._categorical):
                at = layout.value[encoder.channels_[place]]
                x[at] = carried[place] == np.arange(at.stop - at.start)
        C = len(seen)
        if "mask" in encoder.blocks:
            x[layout.mask : layout.mask + C] = seen
        if "since" in encoder.blocks:
            when = np.where(seen, step, np.where(np.isnan(self._when), self._first, self._when))
            x[layout.since : layout.since + C] = since_feature(step - when, encoder.time_scale_)
        dt = 0.0 if self._before is None else (step - self._before) / encoder.time_scale_
        return x, np.float32(dt)

    def _row(self, values: Any) -> npt.NDArray[np.float32]:
        names = self.encoder.channels_
        if isinstance(values, Mapping):
            row = self._numbers(values, names, "values")
        else:
            row = np.asarray(values, dtype=np.float32)
            if row.shape != (len(names),):
                raise wrong_shape("values", "(C,)", [len(names)], row.shape, "Or a mapping from channels to values.")
        if np.isinf(row).any():
            name = names[int(np.argmax(np.isinf(row)))]
            raise ValueError(f"`values` must be finite, or NaN for what is not observed; {name!r} is infinite")
        return row

    def _numbers(self, given: Mapping[str, Any], names: tuple[str, ...], argument: str) -> npt.NDArray[np.float32]:
        row = np.full(len(names), np.nan, dtype=np.float32)
        for name, value in given.items():
            if name not in names:
                hint = nearest(str(name), names) or "."
                raise ValueError(f"`{argument}` must be of channels or features of training; {name!r} is none{hint}")
            if value is None or value != value:
                continue
            if name in self.encoder.categories_:
                labels = self.encoder.categories_[name]
                label = label_of(value)
                row[names.index(name)] = labels.index(label) if label in labels else -1.0
            else:
                row[names.index(name)] = float(value)
        return row

    def _relative(self, t: Any) -> float:
        """Return the time as the whole set would store it: stamps and large whole numbers from the first sample on."""
        if isinstance(t, datetime.datetime | np.datetime64):
            if isinstance(t, datetime.datetime) and t.tzinfo is not None:
                t = t.astimezone(datetime.UTC).replace(tzinfo=None)
            ticks = as_ticks(np.array([t], dtype="datetime64[ns]"), self.encoder.time_unit_)
            if np.isnat(np.datetime64(t)):
                raise ValueError("`t` must be a time; got NaT")
            whole = int(ticks.values[0])
            self._origin = whole if self._origin is None else self._origin
            return float(whole - self._origin) / round(1.0 / ticks.factor)
        if isinstance(t, int | np.integer) and (self._origin is not None or abs(int(t)) > _EXACT):
            self._origin = int(t) if self._origin is None else self._origin
            return float(int(t) - self._origin)
        time = float(t)
        if not np.isfinite(time):
            raise ValueError(f"`t` must be finite; got {time}")
        return time
