"""The effect of one observation on a prediction, by the gap since the previous sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.evaluation.insight.question import networks_of, question_of
from liquidtime.evaluation.insight.shown import Shown, Sketch

if TYPE_CHECKING:
    from liquidtime.evaluation.drawing import Drawing

Floats = npt.NDArray[np.float64]
_SERIES, _GAPS, _CHANNELS = 24, 9, 4


@dataclass(frozen=True, eq=False, repr=False)
class GapResponse(Shown):
    """The effect of one observation on the prediction, by the gap since the previous sample.

    Args:
        gaps: (G,) gaps in the unit of the data.
        channels: names of K channels.
        responses: (K, G) distance between the predictions after a low and after a high value, averaged over series.
        low: (K,) low values.
        high: (K,) high values.
        time_unit: unit of the times of the data.
    """

    gaps: Floats
    channels: tuple[str, ...]
    responses: Floats
    low: Floats
    high: Floats
    time_unit: str | None

    def caption(self) -> str:
        """Return the caption of the figure."""
        ends = "; ".join(
            f"{name} {low:.4g} or {high:.4g}"
            for name, low, high in zip(self.channels, self.low, self.high, strict=True)
        )
        return (
            "How much one more observation changes the networks' prediction, by the gap since the previous sample: the "
            f"distance between a low and a high value ({ends}), averaged over series. A flat line means that the gap "
            "does not matter."
        )

    def sketch(self) -> Sketch:
        """Return one line per channel."""
        alt = "; ".join(
            f"{name}: {row[0]:.3g} after {self.gaps[0]:.3g}, {row[-1]:.3g} after {self.gaps[-1]:.3g}"
            for name, row in zip(self.channels, self.responses, strict=True)
        )

        def draw(figure: Drawing) -> None:
            axes = figure.axes[0]
            for place, name in reversed([*enumerate(self.channels)]):
                colour = figure.palette.series[(0, 1, 3, 4)[place % 4]]
                axes.plot(self.gaps, self.responses[place], marker="o", markersize=3, color=colour, label=name[:30])
            axes.set_xscale("log")
            figure.plain_ticks(axes, float(np.log10(self.gaps[-1] / self.gaps[0])))
            axes.set_xlabel("gap since the previous sample" + (f", in {self.time_unit}" if self.time_unit else ""))
            axes.set_ylabel("response")
            axes.set_ylim(bottom=0)
            figure.legend_below()

        return Sketch(f"Response to one observation by gap. {alt}.", (4.7, 2.9 + 0.19 * len(self.channels)), draw)

    def __repr__(self) -> str:
        return self.caption()


def gap_response(model: Any, data: SeriesSet, channels: Sequence[str] | None = None) -> GapResponse | None:
    """Return the effect of one more observation on the networks' prediction, by the gap since the previous sample.

    Args:
        model: fitted estimator of any task.
        data: series to which the observation is appended.
        channels: numeric channels; None for those observed most often.

    Returns:
        The responses; None if no series has a sample, or no numeric channel varies.

    """
    networks = networks_of(model)
    question = question_of(networks)
    rows = np.flatnonzero(data.lengths > 0)[:_SERIES]
    interval = data.describe().intervals.median
    counts = (~np.isnan(data.values)).sum(axis=0)
    wanted = channels or [data.channels[place] for place in np.argsort(-counts, kind="stable")]
    places = [data.channels.index(name) for name in wanted if name in data.channels and name not in data.categories]
    ends = {place: np.nanquantile(data.values[:, place], [0.1, 0.9]) for place in places if counts[place]}
    places = [place for place in places if place in ends and ends[place][0] < ends[place][1]][:_CHANNELS]
    if len(rows) == 0 or not places or not interval:
        return None
    gaps = interval * np.geomspace(0.1, 100.0, _GAPS)
    some = data[np.tile(rows, _GAPS)]
    each = np.repeat(gaps, len(rows))
    responses = np.zeros((len(places), _GAPS))
    for row, place in enumerate(places):
        low, high = (question.answers(_extended(some, each, place, float(end))) for end in ends[place])
        responses[row] = np.abs(high - low).max(axis=1).reshape(_GAPS, -1).mean(axis=1)
    return GapResponse(
        gaps,
        tuple(data.channels[place] for place in places),
        responses,
        np.array([ends[place][0] for place in places], dtype=np.float64),
        np.array([ends[place][1] for place in places], dtype=np.float64),
        data.time_unit,
    )


def _extended(data: SeriesSet, gaps: Floats, channel: int, value: float) -> SeriesSet:
    """Return nonempty series with one more sample with one value, after gaps (S,)."""
    row = np.full((1, len(data.channels)), np.nan, dtype=np.float32)
    row[0, channel] = value
    ends = data.offsets[1:]
    return data.replace_unchecked(
        offsets=data.offsets + np.arange(len(data) + 1),
        times=np.insert(data.times, ends, data.times[ends - 1] + gaps),
        values=np.insert(data.values, ends, row, axis=0),
    )
