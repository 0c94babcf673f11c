"""Single test series for a report, as plain numbers and texts."""

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
"""Number of best, and of worst, series in a report."""
_POINTS = 48
"""Number of predictions over time of a stacked model in a report."""


@dataclass(frozen=True, eq=False)
class SeriesView:
    """One series of the test part on its true time axis, with its prediction over time.

    Args:
        kind: "best" or "worst".
        id: id of the series.
        outcome: truth and prediction, as text.
        times: (T,) times in the unit of the data.
        values: (T, C) values, NaN if not observed.
        channels: names of the C channels.
        seen: (P,) times of the predictions.
        evolving: (P,) or (P, K) predictions from all samples up to these times.
        truth: true value, if it is a number of the same kind.
        labels: names of the K columns of `evolving`.
        bounds: smallest and largest possible prediction; None for any number.
        categories: categories of the categorical channels.
        joined: whether predictions are for points in time, such as forecasts, and are joined by lines; otherwise each
            is valid from its time until the next one.
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
    """Return the predictions over time for the series in a report.

    Args:
        model: fitted model.
        series: series as the model reads them.
    """
    return model.evolve(series, points=_POINTS if model.reads_whole_series else None)


def extremes(errors: Array, lengths: Array, groups: Any = None) -> tuple[list[str], list[int]]:
    """Return the kinds and rows of the series with the smallest and largest errors that have a sample, each once.

    Args:
        errors: (n,) error of each prediction.
        lengths: (n,) number of samples of each series.
        groups: (n,) classes, of which different ones are chosen first; None for no classes.
    """
    order = [int(row) for row in np.argsort(errors, kind="stable") if lengths[row] > 0]
    shown = min(_SHOWN, len(order) // 2)
    best = _spread(order, groups)[:shown]
    worst = _spread([row for row in order[::-1] if row not in best], groups)[:shown]
    return ["best"] * len(best) + ["worst"] * len(worst), best + worst


def _spread(order: list[int], groups: Any) -> list[int]:
    """Return the rows with the first of each group at the beginning."""
    if groups is None:
        return order
    first = {groups[row]: row for row in reversed(order)}
    leading = [row for row in order if first[groups[row]] == row]
    return leading + [row for row in order if row not in leading]
