"""Why and when a prediction was made: the effect of each observation of one series, predicted with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_size
from liquidtime.data import SeriesSet
from liquidtime.errors import unknown_choice
from liquidtime.evaluation.insight.question import question_of
from liquidtime.evaluation.insight.shown import Shown, Sketch

if TYPE_CHECKING:
    from liquidtime.evaluation.drawing import Drawing

Floats = npt.NDArray[np.float64]
_CHANNELS_DRAWN = 6
_WORK, _FEWEST = 400_000, 24
"""Samples that the model reads for one explanation, about, and how many runs a series is parted into however long."""


@dataclass(frozen=True)
class ObservationEffect:
    """The effect of one observation, or of a run of neighbouring observations of a channel, on the prediction.

    Args:
        channel: name of the channel.
        first: time of the first observation of the run.
        time: time of the last one, at which `on_arrival` is measured; equal to `first` for a single observation.
        value: last value; a category by its name.
        count: number of observations in the run.
        on_arrival: prediction from everything up to `time`, minus that without the run.
        at_the_end: prediction from the whole series, minus that without the run.
    """

    channel: str
    first: float
    time: float
    value: float | str
    count: int
    on_arrival: float
    at_the_end: float


@dataclass(frozen=True, eq=False, repr=False)
class ObservationEffects(Shown):
    """The effects of all observations of one series on its prediction.

    Args:
        id: id of the series.
        output: name of the predicted output.
        effects: effects, in order of time.
        times: (T,) times of the samples.
        values: (T, C) observed values, NaN if not observed.
        channels: names of the C channels.
        categories: categories of the categorical channels.
        seen: (P,) times of the samples at which there is a prediction: all, or some of a long series.
        prediction: (P,) prediction from all samples up to each of them.
        empty: prediction before the first sample; NaN if the model makes none.
        time_unit: unit of the times.
    """

    id: str
    output: str
    effects: Sequence[ObservationEffect]
    times: Floats
    values: npt.NDArray[np.float32]
    channels: tuple[str, ...]
    categories: dict[str, tuple[str, ...]]
    seen: Floats
    prediction: Floats
    empty: float
    time_unit: str | None

    def strongest(self, most: int = 5) -> list[ObservationEffect]:
        """Return the observations that changed the prediction most on arrival."""
        return sorted(self.effects, key=lambda effect: -abs(effect.on_arrival))[:most]

    def words(self, most: int = 3) -> str:
        """Return a sentence about the reasons for the prediction."""
        last = f"{self.prediction[-1]:.3g}" if len(self.prediction) else "none"
        unit = f" {self.time_unit}" if self.time_unit else ""
        moved = [
            f"{effect.channel} {_number(effect.value)} at {effect.time:.4g}{unit} "
            f"({'+' if effect.on_arrival >= 0 else '−'}{abs(effect.on_arrival):.2g})"
            for effect in self.strongest(most)
            if effect.on_arrival != 0
        ]
        why = f" The observations that changed it most: {'; '.join(moved)}." if moved else ""
        return f"Series {self.id}: {self.output} is {last} at the end.{why}"

    def caption(self) -> str:
        """Return the caption of the figure."""
        grouped = any(effect.count > 1 for effect in self.effects)
        runs = " In long series, neighbouring observations of a channel are left out together." if grouped else ""
        return (
            f"{self.words()} Each triangle is an observation; the larger it is, the more it moved the prediction up "
            "or down when it "
            "arrived (predicted with and without it). Below: the prediction from all samples up to "
            f"{'each time' if len(self.seen) == len(self.times) else 'some of the times'}."
            f"{runs}"
        )

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the effects as plain dictionaries, for a data frame or JSON."""
        return [{"id": self.id, "output": self.output, **vars(effect)} for effect in self.effects]

    def sketch(self) -> Sketch:
        """Return the channels that changed the prediction most, on the true time axis, and the prediction below."""
        weight = dict.fromkeys(self.channels, 0.0)
        for effect in self.effects:
            weight[effect.channel] += abs(effect.on_arrival)
        observed = ~np.isnan(self.values)
        shown = sorted((name for place, name in enumerate(self.channels) if observed[:, place].any()),
                       key=lambda name: -weight[name])[:_CHANNELS_DRAWN]  # fmt: skip
        largest = max((abs(effect.on_arrival) for effect in self.effects), default=0.0) or 1.0
        alt = f"{self.words()} Drawn: {', '.join(shown) or 'no observation'}."

        def draw(figure: Drawing) -> None:
            palette = figure.palette
            for axes, name in zip(figure.axes, shown, strict=False):
                place = self.channels.index(name)
                seen = observed[:, place]
                labels = self.categories.get(name)
                style = "steps-post" if labels else "default"
                axes.plot(self.times[seen], self.values[seen, place], color=palette.faint, linewidth=0.8,
                          drawstyle=style)  # fmt: skip
                axes.plot(self.times[seen], self.values[seen, place], ".", color=palette.faint, markersize=3)
                for effect in self.effects:
                    if effect.channel != name or effect.on_arrival == 0:
                        continue
                    height = self.values[np.searchsorted(self.times, effect.time), place]
                    size = 13 * (abs(effect.on_arrival) / largest) ** 0.5
                    up = effect.on_arrival > 0
                    axes.plot([effect.time], [height], "^" if up else "v", color=palette.series[0 if up else 1],
                              markersize=size, alpha=0.75, markeredgewidth=0, clip_on=False)  # fmt: skip
                axes.set_title(name if len(name) <= 40 else name[:39] + "…", fontsize=9, pad=2)
                axes.locator_params(axis="y", nbins=3)
                if labels:
                    codes = np.unique(self.values[seen, place]).astype(int)
                    axes.set_yticks(codes, [labels[code][:16] for code in codes])
                axes.margins(y=0.2)
            axes = figure.axes[-1]
            axes.step(self.seen, self.prediction, where="post", color=palette.series[3])
            axes.plot(self.seen[-1:], self.prediction[-1:], "o", color=palette.series[3], markersize=4)
            axes.set_title(f"prediction: {self.output}", fontsize=9, pad=2)
            axes.set_xlabel(f"time in {self.time_unit}" if self.time_unit else "time")
            axes.locator_params(axis="y", nbins=4)

        rows = len(shown) + 1
        return Sketch(alt, (4.7, 0.9 + 0.78 * rows), draw, [1.0] * len(shown) + [1.4])

    def __repr__(self) -> str:
        return self.words(8)


def observation_effects(
    model: Any, data: SeriesSet, id: Any = None, *, output: str | None = None, most: int = 200
) -> ObservationEffects:
    """Return the exact effect of each observation of one series on the prediction, by predicting with and without it.

    A sample without any other observation is left out completely. For forecasts, the prediction is that of the channel
    at the usual horizon after the observation.

    Args:
        model: fitted estimator of any task.
        data: series, one of which is explained.
        id: id of this series; None for the first.
        output: output to explain: a class, or a channel to forecast; None for the second of two classes, the class that
            is most probable at the end, or the first of several values.
        most: approximate largest number of runs that are left out one at a time; in longer series, neighbouring
            observations of a channel form one run. Longer series have fewer runs, down to 24 and one per channel, so
            that the work grows no faster than the length.

    Raises:
        ValueError: no series has this id, the series has no sample, or the model does not have the output.

    """
    check_size("most", most)
    question = question_of(model)
    one = data[[row_of(data, id)]]
    T = len(one.times)
    if T == 0:
        raise ValueError(f"series {one.ids[0]} has no sample; there is nothing to explain")
    observed = ~np.isnan(one.values)
    parts = min(most, max(_FEWEST, _WORK // (4 * T)))
    runs = _runs(observed, parts)
    moments = _moments(T, runs, parts)
    P, place_of = len(moments), {int(row): place for place, row in enumerate(moments)}
    whole = np.ones(observed.shape, dtype=bool)
    keeps = [whole & (np.arange(T) <= k)[:, None] for k in moments]
    whens = [float(one.times[k]) for k in moments]
    for channel, rows in runs:
        without = whole.copy()
        without[rows, channel] = False
        keeps += [without & (np.arange(T) <= rows[-1])[:, None], without]
        whens += [float(one.times[rows[-1]]), float(one.times[-1])]
    variants, kept = _variants(one, keeps)
    answers = np.full((len(keeps), len(question.names)), np.nan)
    answers[kept] = question.answers(variants[kept], np.array(whens)[kept])
    try:
        nothing = question.answers(variants[:1].head(0), np.array([whens[0]]))[0]
    except ValueError:  # a model that needs a sample
        nothing = np.full(len(question.names), np.nan)
    answers[~kept] = nothing
    chosen = question.focus(answers[P - 1]) if output is None else _place_of(output, question.names)
    said = answers[:, chosen]
    effects = []
    for place, (channel, rows) in enumerate(runs):
        name, last = one.channels[channel], rows[-1]
        labels = one.categories.get(name)
        value = float(one.values[last, channel])
        effects.append(
            ObservationEffect(
                channel=name,
                first=float(one.times[rows[0]]),
                time=float(one.times[last]),
                value=labels[int(value)] if labels else value,
                count=len(rows),
                on_arrival=float(np.nan_to_num(said[place_of[int(last)]] - said[P + 2 * place])),
                at_the_end=float(np.nan_to_num(said[P - 1] - said[P + 2 * place + 1])),
            )
        )
    effects.sort(key=lambda effect: effect.time)
    return ObservationEffects(
        id=str(one.ids[0]),
        output=_output_words(model, question.names[chosen]),
        effects=effects,
        times=one.times,
        values=one.values,
        channels=one.channels,
        categories=dict(one.categories),
        seen=one.times[moments],
        prediction=said[:P],
        empty=float(nothing[chosen]),
        time_unit=one.time_unit,
    )


def _runs(observed: npt.NDArray[np.bool_], most: int) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Return what is left out together, as (channel, rows): single observations, or runs if there are too many."""
    total = int(observed.sum())
    runs: list[tuple[int, npt.NDArray[np.int64]]] = []
    for channel in range(observed.shape[1]):
        rows = np.flatnonzero(observed[:, channel])
        if len(rows):
            parts = len(rows) if total <= most else max(1, round(most * len(rows) / total))
            runs += [(channel, part) for part in np.array_split(rows, parts) if len(part)]
    return runs


def _moments(T: int, runs: Sequence[tuple[int, npt.NDArray[np.int64]]], parts: int) -> npt.NDArray[np.int64]:
    """Return (P,) the samples at which the prediction is asked for: all, or the ends of runs and some between."""
    if parts >= T:
        return np.arange(T)
    between = np.linspace(0, T - 1, parts).round().astype(np.int64)
    return np.unique([*between.tolist(), *(int(rows[-1]) for _, rows in runs)]).astype(np.int64)


def _variants(one: SeriesSet, keeps: Sequence[npt.NDArray[np.bool_]]) -> tuple[SeriesSet, npt.NDArray[np.bool_]]:
    """Return a series with only some of its observations, once for each (T, C) mask; and which have any sample left."""
    observed = ~np.isnan(one.values)
    bare = ~observed.any(axis=1)  # samples without observations are kept
    times, values, lengths = [], [], []
    for keep in keeps:
        seen = keep.any(axis=1)
        left = (keep & observed).any(axis=1) | (bare & seen)
        times.append(one.times[left])
        values.append(np.where(keep[left], one.values[left], np.nan).astype(np.float32))
        lengths.append(int(left.sum()))
    n = len(keeps)
    origins = None if one.origins is None else np.repeat(one.origins, n)
    variants = one.replace_unchecked(
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        times=np.concatenate(times),
        values=np.concatenate(values),
        ids=np.arange(n),
        static=np.repeat(one.static, n, axis=0),
        origins=origins,
        notes=(),
    )
    return variants, np.array(lengths) > 0


def row_of(data: SeriesSet, id: Any) -> int:
    """Return the position of a series; the first if `id` is None.

    Raises:
        ValueError: no series has this id.

    """
    if id is None:
        if len(data) == 0:
            raise ValueError("`data` must have a series to explain; got none")
        return 0
    names = [str(name) for name in data.ids.tolist()]
    if str(id) not in names:
        raise unknown_choice("id", str(id), names)
    return names.index(str(id))


def _place_of(output: str, names: Sequence[str]) -> int:
    if str(output) not in names:
        raise unknown_choice("output", str(output), names)
    return list(names).index(str(output))


def _output_words(model: Any, name: str) -> str:
    if hasattr(model, "predict_proba"):
        return f"probability of {name}"
    horizon = getattr(model, "horizon_", None)
    return name if horizon is None else f"{name}, {horizon:.4g} ahead"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
