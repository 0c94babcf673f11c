"""Single series of a test, as a report shows them: plain numbers and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_choice
from liquidtime.errors import wrong_shape

Array = npt.NDArray[Any]
_SHOWN = 2
"""How many of the best and of the worst series are shown."""
_POINTS = 48
"""Predictions over time that are shown of a stacked model."""


@dataclass(frozen=True, eq=False)
class SeriesView:
    """One series of the test part on its true time axis, with its prediction over time.

    Args:
        kind: "best" or "worst".
        id: of the series.
        outcome: what was true and what was predicted, in words.
        times: (T,) in the unit of the data.
        values: (T, C), NaN = not observed.
        channels: the C names.
        seen: (P,) times at which the prediction is given.
        evolving: (P,) or (P, K) the prediction from all samples up to then.
        truth: what it should come to, if that is a number of the same kind.
        labels: what the K columns of `evolving` are.
        bounds: the least and the largest that a prediction can be; None for any number.
        categories: of the categorical channels.
        joined: whether predictions are of points in time, which lines join, as forecasts are; else each holds from its
            time on until the next one.
    """

    kind: str
    id: str
    outcome: str
    times: Array
    values: Array
    channels: Sequence[str]
    seen: Array
    evolving: Array
    truth: float | None = None
    labels: Sequence[str] = ()
    bounds: tuple[float, float] | None = None
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    joined: bool = False

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ("best", "worst"))
        if self.values.shape != (len(self.times), len(self.channels)):
            raise wrong_shape("values", "(T, C)", [len(self.times), len(self.channels)], self.values.shape)
        if len(self.seen) != len(self.evolving):
            raise wrong_shape("evolving", "(P,)", [len(self.seen)], self.evolving.shape)


def evolution_of(model: Any, series: Any) -> Any:
    """Return the predictions over time of the series that a report shows.

    Args:
        model: fitted.
        series: as it reads them.
    """
    return model.evolve(series, points=_POINTS if model.reads_whole_series else None)


def extremes(errors: Array, lengths: Array, groups: Any = None) -> tuple[list[str], list[int]]:
    """Return the kinds and rows of the least and the most wrong series that have a sample, each once.

    Args:
        errors: (n,) how wrong each prediction is.
        lengths: (n,) samples of each series.
        groups: (n,) classes, of which different ones are taken first; None for none.
    """
    order = [int(row) for row in np.argsort(errors, kind="stable") if lengths[row] > 0]
    shown = min(_SHOWN, len(order) // 2)
    best = _spread(order, groups)[:shown]
    worst = _spread([row for row in order[::-1] if row not in best], groups)[:shown]
    return ["best"] * len(best) + ["worst"] * len(worst), best + worst


def _spread(order: list[int], groups: Any) -> list[int]:
    """Return the rows with the first of each group in front."""
    if groups is None:
        return order
    first = {groups[row]: row for row in reversed(order)}
    leading = [row for row in order if first[groups[row]] == row]
    return leading + [row for row in order if row not in leading]
