"""The encoding and the running statistics step by step, one more sample of each of B series at a time.

`SeriesEncoder.encode` and `History` compute the same numbers for whole series at once. A live series uses this step
with B = 1, the evolution of a set of S series with B = S.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from liquidtime.data.encoding.bins import bin_of
from liquidtime.data.encoding.carry import since_feature
from liquidtime.data.encoding.history import History, Moments

if TYPE_CHECKING:
    from liquidtime.data.encoding.encoder import SeriesEncoder

Floats = npt.NDArray[np.float64]
Scaled = npt.NDArray[np.float32]


class StepState(NamedTuple):
    """The state of B series of C channels between samples; NaN means "none yet".

    Samples at one time, or in one bin, form one step. The newest step is open: the next sample may belong to it.

    Args:
        time: (B,) time of the newest sample.
        step: (B,) time of the open step: the start of its bin, or without bins the time of the newest sample.
        before: (B,) time of the step before it.
        first: (B,) time of the first step.
        time_total: (B, C) sum of the values at the newest time.
        time_count: (B, C) number of values at the newest time.
        bin_total: (B, C) sum over the earlier times in the open bin, each of which counts once.
        bin_count: (B, C) number of these times.
        values: (B, C) float32 values of the open step so far.
        carried: (B, C) float32 last observation before the open step.
        carried_at: (B, C) time of the step at which it was observed.
        moments: running sums over the steps before the open step.
    """

    time: Floats
    step: Floats
    before: Floats
    first: Floats
    time_total: Floats
    time_count: Floats
    bin_total: Floats
    bin_count: Floats
    values: Scaled
    carried: Scaled
    carried_at: Floats
    moments: Moments

    def head(self, B: int) -> StepState:
        """Return the state of the first B series."""
        arrays = {name: array[:B] for name, array in self._asdict().items() if name != "moments"}
        return StepState(**arrays, moments=Moments(*(array[:B] for array in self.moments)))


class Step(NamedTuple):
    """The open step of B series, as input of a network.

    Args:
        x: (B, D) inputs.
        dt: (B,) scaled time since the previous step; 0 for the first step.
        history: (B, G) running statistics.
    """

    x: Scaled
    dt: Scaled
    history: Scaled


class SampleStep:
    """Takes samples of B series one after the other, by pure functions of a `StepState`, elementwise over the series.

        state = step.start(B);   state = step.advance(state, times, values);   step.read(state)

    Args:
        encoder: fitted encoder.
    """

    def __init__(self, encoder: SeriesEncoder) -> None:
        self.encoder = encoder
        self._layout = encoder.layout_
        self._history = History(encoder)
        self._categorical = np.array([name in encoder.categories_ for name in encoder.channels_], dtype=bool)
        slices = [self._layout.value[name] for name in encoder.channels_] if self._layout.value else []
        self._numeric = [at.start for at, flag in zip(slices, self._categorical, strict=False) if not flag]
        self._one_hot = [(c, at) for c, at in enumerate(slices) if self._categorical[c]]

    def start(self, B: int) -> StepState:
        """Return the state of B series before their first sample."""
        C = len(self._categorical)
        none, nothing = np.full(B, np.nan), np.zeros((B, C))
        unseen = np.full((B, C), np.nan, dtype=np.float32)
        sums = (nothing, nothing, nothing, nothing)
        return StepState(none, none, none, none, *sums, unseen, unseen, np.full((B, C), np.nan), Moments.start(B, C))

    def advance(self, state: StepState, times: Floats, values: Scaled) -> StepState:
        """Return the state after one more sample of each series; `state` itself does not change.

        Nothing is checked: the caller must refuse a sample if `read` then returns infinite numbers.

        Args:
            state: state before the samples.
            times: (B,) finite times, not before the newest sample of the series.
            values: (B, C) finite values, NaN = not observed; categories by position.
        """
        steps, width = times, self.encoder.bin_width
        if width:
            with np.errstate(over="ignore"):
                steps = bin_of(times, width) * width
        later = (state.time != times)[:, None]  # the newest time so far is complete
        opens = (state.step != steps)[:, None]  # and so is the open step
        closed = opens & ~np.isnan(state.values)
        newest = _mean(state.time_total, state.time_count)
        bin_total, bin_count = self._add(state.bin_total, state.bin_count, np.where(later, newest, np.float32(np.nan)))
        bin_total, bin_count = np.where(opens, 0.0, bin_total), np.where(opens, 0.0, bin_count)
        time_total, time_count = np.where(later, 0.0, state.time_total), np.where(later, 0.0, state.time_count)
        time_total, time_count = self._add(time_total, time_count, values)
        return StepState(
            time=times,
            step=steps,
            before=np.where(opens[:, 0], state.step, state.before),
            first=np.where(np.isnan(state.first), steps, state.first),
            time_total=time_total,
            time_count=time_count,
            bin_total=bin_total,
            bin_count=bin_count,
            values=_mean(*self._add(bin_total, bin_count, _mean(time_total, time_count))),
            carried=np.where(closed, state.values, state.carried),
            carried_at=np.where(closed, state.step[:, None], state.carried_at),
            moments=state.moments.add(self.encoder.scaling_.rows(state.values), closed),
        )

    def read(self, state: StepState) -> Step:
        """Return the open step so far; what float32 cannot represent is infinite or NaN, as in a whole series."""
        layout, (B, C) = self._layout, state.values.shape
        seen = ~np.isnan(state.values)
        carried = np.where(seen, state.values, state.carried)
        scaled = self.encoder.scaling_.rows(carried)
        x = np.zeros((B, len(layout.inputs)), dtype=np.float32)
        if self._numeric:
            known = ~np.isnan(carried)
            x[:, self._numeric] = np.where(known, scaled, np.float32(0.0))[:, ~self._categorical]
        for c, at in self._one_hot:
            x[:, at] = carried[:, c : c + 1] == np.arange(at.stop - at.start)
        if "mask" in layout.blocks:
            x[:, layout.mask : layout.mask + C] = seen
        with np.errstate(over="ignore", invalid="ignore"):
            if "since" in layout.blocks:
                last = np.where(np.isnan(state.carried_at), state.first[:, None], state.carried_at)
                elapsed = np.where(seen, 0.0, state.step[:, None] - last)
                x[:, layout.since : layout.since + C] = since_feature(elapsed, self.encoder.time_scale_)
            elapsed = np.where(np.isnan(state.before), 0.0, state.step - state.before)
            dt = (elapsed / self.encoder.time_scale_).astype(np.float32)
            history = self._history.rows(state.moments.add(scaled, seen))
        return Step(x, dt, history)

    def _add(self, total: Floats, count: Floats, values: Scaled) -> tuple[Floats, Floats]:
        """Return sum and count after adding (B, C) values, NaN = none; in categorical channels they replace the sum."""
        seen = ~np.isnan(values)
        adds_up = ~(seen & self._categorical)
        return np.where(adds_up, total, 0.0) + np.where(seen, values, 0.0), np.where(adds_up, count, 0.0) + seen


def _mean(total: Floats, count: Floats) -> Scaled:
    """Return (B, C) the mean of the observed values; NaN if there are none."""
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan).astype(np.float32)
