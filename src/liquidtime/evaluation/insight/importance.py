"""Which channels matter: how much worse a model gets if one thing is taken from other series."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_size
from liquidtime.data import SeriesSet
from liquidtime.evaluation.insight.donors import is_always_alike, with_channel, with_presence, with_static, with_timing
from liquidtime.evaluation.insight.question import Question, question_of
from liquidtime.evaluation.insight.shown import Shown, Sketch
from liquidtime.tasks.per_sample import by_series
from liquidtime.training.bootstrap import ConfidenceInterval, mean_interval

if TYPE_CHECKING:
    from liquidtime.evaluation.drawing import Drawing

Floats: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.int64]
Kind: TypeAlias = Literal["channel", "presence", "static", "timing"]
_Thing: TypeAlias = tuple[Literal["channel", "static"], int]
KINDS: dict[Kind, str] = {
    "channel": "its values and when it was observed",
    "presence": "only when it was observed",
    "static": "a static feature",
    "timing": "the times of the samples",
}
"""Descriptions of what is taken from another series."""
TIMING = "timing of the samples"
_DRAWN, _WIDE = 15, 36
"""Number of bars, and of characters per line of the axis label."""


@dataclass(frozen=True)
class Importance:
    """The importance of one thing for a model.

    Args:
        name: name of the channel or static feature, or "timing of the samples".
        kind: what is taken from another series, one of `KINDS`.
        loss: mean growth of the loss over the series; above 0 if the model uses it.
    """

    name: str
    kind: Kind
    loss: ConfidenceInterval

    @property
    def matters(self) -> bool:
        """Whether the interval lies above 0."""
        return self.loss.low > 0

    @property
    def label(self) -> str:
        """The name, and what was taken, if only a part was."""
        return f"{self.name}: when observed" if self.kind == "presence" else self.name


@dataclass(frozen=True, eq=False, repr=False)
class Importances(Shown):
    """What matters to a model, most important first; it can be printed and displayed in a notebook.

    Args:
        rows: one entry per thing.
        measure: name of the loss; or "change of the prediction" without the truth.
        base: mean loss of the unchanged series; None without the truth.
        series: number of series.
        repeats: number of exchanges of each thing.
        in_groups: channels and static features that were exchanged in groups alone, which mattered less than others.
    """

    rows: Sequence[Importance]
    measure: str
    base: float | None
    series: int
    repeats: int
    in_groups: int = 0

    def __iter__(self) -> Iterator[Importance]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Importance:
        """Return a channel, a static feature or, with ": when observed" after its name, the presence of a channel."""
        for row in self.rows:
            if name in (row.label, row.name):
                return row
        raise KeyError(name)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the numbers as plain dictionaries, for a data frame or JSON."""
        return [
            {
                "name": row.name,
                "kind": row.kind,
                "importance": row.loss.value,
                "low": row.loss.low,
                "high": row.loss.high,
            }
            for row in self.rows
        ]

    def words(self, most: int = 3) -> str:
        """Return a sentence about what matters most."""
        named = [row.label for row in self.rows if row.matters][:most]
        if not named:
            return f"On these {self.series:,} series no single channel has a measurable effect when it is shuffled."
        return f"The model relies most on {_listed(named)}."

    def caption(self) -> str:
        """Return the caption of the figure."""
        hidden = max(0, len(self.rows) - _DRAWN)
        what = "How much the prediction changes"
        if self.base is not None:
            what = f"How much the {self.measure} grows from {self.base:.3f}"
        return (
            f"{what} when only this is taken from another series, with 95 % confidence intervals over {self.series:,} "
            "series. “When observed” shuffles only which samples have a value."
            + (f" Not drawn: the {hidden} least important ones." if hidden else "")
            + (f" {self.in_groups} others were only shuffled in groups, and mattered less." if self.in_groups else "")
        )

    def sketch(self) -> Sketch:
        """Return bars with confidence intervals, the most important at the top."""
        drawn = list(self.rows[:_DRAWN])
        alt = f"Importance, {self.measure}: " + "; ".join(f"{row.label} {row.loss.value:.3g}" for row in drawn) + "."

        def draw(figure: Drawing) -> None:
            axes, palette = figure.axes[0], figure.palette
            places = np.arange(len(drawn))
            values = np.array([row.loss.value for row in drawn])
            ends = np.array([[row.loss.value - row.loss.low, row.loss.high - row.loss.value] for row in drawn]).T
            colours = [palette.series[1 if row.kind in ("presence", "timing") else 0] for row in drawn]
            axes.barh(places, values, color=colours, height=0.62)
            axes.errorbar(values, places, xerr=ends.clip(min=0), fmt="none", ecolor=palette.ink, elinewidth=1)
            axes.axvline(0.0, color=palette.faint, linewidth=1)
            axes.set_yticks(places, [_short(row.label) for row in drawn])
            axes.invert_yaxis()
            axes.grid(False, axis="y")
            told = f"growth of the {self.measure}" if self.base is not None else self.measure
            axes.set_xlabel(fill(told, _WIDE))

        return Sketch(alt, (4.7, 1.0 + 0.27 * max(len(drawn), 4)), draw)

    def __repr__(self) -> str:
        wide = max((len(row.label) for row in self.rows), default=0)
        lines = [f"{row.label:<{wide}}  {row.loss}{'' if row.matters else '   (not measurable)'}" for row in self.rows]
        return "\n".join([self.words(), "", *lines, "", self.caption()])


def importances(
    model: Any,
    data: SeriesSet,
    target: Any = None,
    *,
    repeats: int = 3,
    most_series: int = 256,
    seed: int = 0,
    most_presence: int | None = None,
    most_channels: int | None = None,
) -> Importances:
    """Measure what a model uses: permutation importance by channel, by presence and by timing, with intervals.

    One thing at a time is taken from another series, drawn at random, and everything else is unchanged: the values and
    mask of a channel; its mask alone; a static feature; the times of the samples. The loss of each series (log loss,
    absolute error) is compared with that of the unchanged series. Channels with the same information can each look
    unimportant, because the model still has the other one.

    Args:
        model: fitted estimator of any task.
        data: series that the model was not fitted to.
        target: (S,) or (S, K) their truth, or one class per sample; None for forecasts, or if it is not known: the
            change of the prediction is then measured.
        repeats: number of exchanges of each thing, with different partners.
        most_series: largest number of series to use, drawn at random.
        seed: random seed of the partners and the bootstrap.
        most_presence: number of channels, the most important ones, whose presence is measured; None for all.
        most_channels: of more channels and static features than this, neighbouring ones are first exchanged together,
            in half as many groups, and those of the groups that matter most one by one, half as many; None to exchange
            all of them one by one.

    Raises:
        ValueError: there are fewer than two series, or the target does not match them.

    """
    check_size("repeats", repeats)
    check_size("most_series", most_series, 2)
    if most_channels is not None:
        check_size("most_channels", most_channels, 2)
    bounds = _Bounds(repeats, most_presence, most_channels)
    question = question_of(model)
    if len(data) < 2:
        raise ValueError(f"`data` must have at least two series, which can exchange their channels; got {len(data)}")
    rng = np.random.default_rng(seed)
    target = by_series(target, data)
    if len(data) > most_series:
        rows = np.sort(rng.choice(len(data), most_series, replace=False))
        data, target = data[rows], None if target is None else np.asarray(target)[rows]
    if target is None and question.has_target:
        return _changes(question, data, bounds, rng, seed)
    past, truth = question.prepare(data, target)
    base = question.losses(past, truth)
    found, grouped = _tried(past, question, bounds, rng, lambda changed: question.losses(changed, truth) - base)
    return _sorted(found, question.measure, float(base.mean()), len(past), repeats, seed, grouped)


class _Bounds(NamedTuple):
    """How much is tried; as the arguments of `importances`."""

    repeats: int
    most_presence: int | None
    most_channels: int | None


def _changes(question: Question, data: SeriesSet, bounds: _Bounds, rng: np.random.Generator, seed: int) -> Importances:
    """Return the change of the predictions, which needs no truth."""
    said = question.answers(data)

    def moved(changed: SeriesSet) -> Floats:
        away = np.nan_to_num(np.abs(question.answers(changed) - said))
        distance: Floats = away.max(axis=1)
        return distance

    found, grouped = _tried(data, question, bounds, rng, moved)
    return _sorted(found, "change of the prediction", None, len(data), bounds.repeats, seed, grouped)


def _tried(
    data: SeriesSet,
    question: Question,
    bounds: _Bounds,
    rng: np.random.Generator,
    grown: Callable[[SeriesSet], Floats],
) -> tuple[list[tuple[str, Kind, Floats]], int]:
    """Return (S,) the mean growth of each series' loss per exchanged thing, and the number of things left out."""
    partners = [_partners(len(data), rng) for _ in range(bounds.repeats)]

    def mean(make: Callable[[Rows], SeriesSet]) -> Floats:
        growth: Floats = np.mean([grown(make(donors)) for donors in partners], axis=0)
        return growth

    seen = [place for place in range(len(data.channels)) if not np.isnan(data.values[:, place]).all()]
    things: list[_Thing] = [("channel", place) for place in seen]
    things += [("static", place) for place in range(len(data.static_names))]
    singles = _worth_trying(things, bounds.most_channels, lambda group: float(mean(partial(_with, data, group)).mean()))
    names = {"channel": data.channels, "static": data.static_names}
    tried: list[tuple[str, Kind, Floats]] = [
        (names[kind][place], kind, mean(partial(_with, data, [(kind, place)]))) for kind, place in singles
    ]
    by_worth = sorted((one for one in tried if one[1] == "channel"), key=lambda one: -float(one[2].mean()))
    places = [data.channels.index(name) for name, _, _ in by_worth]
    for place in [place for place in places if not is_always_alike(data, place)][: bounds.most_presence]:
        tried.append((data.channels[place], "presence", mean(partial(with_presence, data, place))))
    timing = partial(with_timing, data, keep_ends=not question.has_target)
    return [*tried, (TIMING, "timing", mean(timing))], len(things) - len(singles)


def _with(data: SeriesSet, things: Sequence[_Thing], donors: Rows) -> SeriesSet:
    """Return the series with some channels and static features of others."""
    for kind, place in things:
        data = (with_channel if kind == "channel" else with_static)(data, place, donors)
    return data


def _worth_trying(things: list[_Thing], most: int | None, growth: Callable[[Sequence[_Thing]], float]) -> list[_Thing]:
    """Return what is exchanged alone: everything, or what was in the groups that mattered most."""
    if most is None or len(things) <= most:
        return things
    cuts = np.linspace(0, len(things), most // 2 + 1).round().astype(np.int64).tolist()
    groups = [things[begin:end] for begin, end in pairwise(cuts)]
    by_worth = sorted(groups, key=lambda group: -growth(group))
    return sorted([thing for group in by_worth for thing in group][: most // 2])


def _partners(S: int, rng: np.random.Generator) -> Rows:
    """Return (S,) another series for each series, each of them once."""
    order = rng.permutation(S)
    partners = np.empty(S, dtype=np.int64)
    partners[order] = np.roll(order, 1)
    return partners


def _sorted(
    found: Any, measure: str, base: float | None, series: int, repeats: int, seed: int, in_groups: int
) -> Importances:
    rows = [Importance(name, kind, mean_interval(grown, seed=seed)) for name, kind, grown in found]
    rows.sort(key=lambda row: -row.loss.value)
    return Importances(rows, measure, base, series, repeats, in_groups)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _short(name: str, most: int = 34) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
