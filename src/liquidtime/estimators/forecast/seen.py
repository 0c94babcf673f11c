"""The inputs of forecasts: the past of series up to their ends, and the known part of their future."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.data.encoding.observations import Observations, Past
from liquidtime.errors import unknown_choice
from liquidtime.estimators.forecast.lesson import Scene
from liquidtime.estimators.forecast.network import Anchors, Questions

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Seen:
    """R series at their ends.

    Args:
        past: what was observed of D channels, in their own units.
        targets: positions of the C targets among them.
        now: (R,) the times of the last steps.
        starts: (R, cycles) as `Seasons.phases` takes it.
        static: (R, F) encoded static features.
        known: (R, K) the newest values of the channels whose future is known, NaN = none.
        known_at: maps times (R, Q) to (R, Q, K), the channels whose future is known, NaN = not known.
    """

    past: Past
    targets: tuple[int, ...]
    now: Values
    starts: Values
    static: Values
    known: Values
    known_at: Callable[[Values], Values]

    def asked(self, scene: Scene, gaps: Values, farthest: float) -> tuple[Anchors, Questions]:
        """Return the network's inputs for the past and for scaled gaps (R, Q) after it.

        Args:
            scene: how series are read.
            gaps: (R, Q) scaled times after the last step.
            farthest: largest gap in the inputs; beyond it only phases, seasons and known channels change.
        """
        own = self.past.select(channels=self.targets)
        known = self.known_at(self.now[:, None] + gaps * scene.time_scale)
        questions = scene.questions(own, self.now, gaps, self.starts, known)
        return scene.anchors(own, self.now, self.starts), questions._replace(gap=questions.gap.clamp(max=farthest))


def observed_until(data: SeriesSet, known: Sequence[int]) -> SeriesSet:
    """Return series without the samples at their ends that only have values of known channels, which are the future.

    Args:
        data: the series.
        known: positions of the channels whose future is known.
    """
    if not known:
        return data
    others = np.setdiff1d(np.arange(len(data.channels)), known)
    measured = ~np.isnan(data.values[:, others]).all(axis=1)
    position = np.arange(len(data.times)) - np.repeat(data.offsets[:-1], data.lengths) + 1
    series = np.repeat(np.arange(len(data)), data.lengths)
    counts = np.zeros(len(data), dtype=np.int64)
    np.maximum.at(counts, series[measured], position[measured])
    return data if (counts == data.lengths).all() else data.head(counts)


def known_in(data: SeriesSet, known: Sequence[int]) -> Callable[[Values], Values]:
    """Return a function from times (S, Q) to the newest values (S, Q, K) of known channels at these times."""
    past = Observations.of(data, known).at_ends(data)
    return past.at if known else _nothing


def known_from(
    given: Mapping[str, Any] | None, names: Sequence[str], Q: int, last: Values
) -> Callable[[Values], Values]:
    """Return a function from Q times of one series to (1, Q, K) the known channels, from the values of the caller.

    Args:
        given: a value, or one for each of the Q times, by channel; those left out, and NaN, stay as they are.
        names: the K channels.
        Q: times.
        last: (K,) their newest values.

    Raises:
        ValueError: a channel that is not known, or another number of values.

    """
    columns = {name: np.full(Q, value) for name, value in zip(names, last, strict=True)}
    for name, values in (given or {}).items():
        if name not in columns:
            raise unknown_choice("known", name, names)
        row = np.asarray(values, dtype=np.float64)
        if row.shape not in ((), (Q,)) or np.isinf(row).any():
            raise ValueError(f"`known` must have a number, or one for each of {Q} times, for {name!r}; got {values!r}")
        columns[name] = np.where(np.isnan(row), columns[name], row)
    table = np.stack([columns[name] for name in names], axis=-1)[None] if names else np.zeros((1, Q, 0))
    return lambda times: table


def _nothing(times: Values) -> Values:
    return np.zeros((*times.shape, 0))
