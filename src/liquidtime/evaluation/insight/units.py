"""The units of a network: their time constants, and what they follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from liquidtime.data import SeriesSet
from liquidtime.estimators.faces.base import SeriesEstimator
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.evaluation.insight.question import networks_of
from liquidtime.evaluation.insight.shown import Shown, Sketch
from liquidtime.evaluation.insight.time_constants import time_constants
from liquidtime.layers import Recurrent

if TYPE_CHECKING:
    from liquidtime.evaluation.drawing import Drawing

Floats = npt.NDArray[np.float64]
CLOCK = "time since the start"
"""Name of the time, which units can follow too."""
_SERIES = 64
"""Number of series for medians and correlations over their samples."""
_OFTEN = 0.2
"""Share of steps at which a channel must be known, because units would otherwise follow it by chance."""
_COLOURED = 5


@dataclass(frozen=True)
class Unit:
    """One unit of a network.

    Args:
        network: number of the network in the model.
        unit: number of the unit, over all layers of the network.
        time_constant: time constant in the unit of the data; None if the cell has none.
        follows: the channel with which its output correlates most, or "time since the start".
        correlation: that correlation, over the samples of some series; 0 if the unit never changes.
    """

    network: int
    unit: int
    time_constant: float | None
    follows: str
    correlation: float


@dataclass(frozen=True, eq=False, repr=False)
class Units(Shown):
    """The units of a model's recurrent networks: their time constants, and what they follow.

    Args:
        units: units of the last layer of each network.
        interval: median interval between samples; None if there is none.
        time_unit: unit of the times.
    """

    units: Sequence[Unit]
    interval: float | None
    time_unit: str | None

    @property
    def time_constants(self) -> Floats:
        """Time constants of all units that have one."""
        return np.array([unit.time_constant for unit in self.units if unit.time_constant is not None])

    def followed(self) -> dict[str, int]:
        """Return the number of units that follow each channel, in descending order."""
        names = [unit.follows for unit in self.units]
        return {name: names.count(name) for name in sorted(set(names), key=lambda name: -names.count(name))}

    def words(self) -> str:
        """Return a sentence or two about the time constants of the units and what they follow."""
        unit = f" {self.time_unit}" if self.time_unit else ""
        followed = ", ".join(f"{name} ({count})" for name, count in list(self.followed().items())[:4])
        constants = self.time_constants
        if not len(constants):
            return f"{len(self.units)} units; most follow {followed}."
        low, middle, high = np.quantile(constants, [0.1, 0.5, 0.9])
        beside = f"; samples come every {self.interval:.3g}{unit}" if self.interval else ""
        return (
            f"Half of the units change within {middle:.3g}{unit} (most between {low:.3g} and {high:.3g}{beside}). "
            f"They follow: {followed}."
        )

    def caption(self) -> str:
        """Return the caption of the figure."""
        place = "its time constant" if len(self.time_constants) else "its number"
        return (
            f"{self.words()} Each dot is a unit: the horizontal axis is {place}, the vertical axis how closely its "
            "state follows the "
            "channel named by its colour (correlation over the samples)."
        )

    def sketch(self) -> Sketch:
        """Return one dot per unit."""
        timed = len(self.time_constants) == len(self.units)
        named = list(self.followed())[:_COLOURED]

        def draw(figure: Drawing) -> None:
            axes, palette = figure.axes[0], figure.palette
            constants = self.time_constants
            low, high = _axis(constants, self.interval) if timed else (0.0, 0.0)
            for place, name in reversed([*enumerate(named), (-1, "other")]):
                mine = [
                    (min(max(unit.time_constant or 0.0, low), high) if timed else number, abs(unit.correlation))
                    for number, unit in enumerate(self.units)
                    if (unit.follows == name if place >= 0 else unit.follows not in named)
                ]
                if mine:
                    colours = [colour for number, colour in enumerate(palette.series) if number != 2]
                    colour = colours[place] if place >= 0 else palette.faint
                    label = name if len(name) <= 30 else name[:29] + "…"
                    axes.plot(*np.transpose(mine), "o", color=colour, markersize=5, markeredgewidth=0, alpha=0.85,
                              label=label)  # fmt: skip
            if timed:
                axes.set_xscale("log")
                axes.set_xlim(low / 1.3, high * 1.3)
                figure.plain_ticks(axes, float(np.log10(high / low)) + 0.2)
                if self.interval:
                    axes.axvline(self.interval, color=palette.ink, linestyle="--", linewidth=1.2)
                    axes.set_title(f"dashed: median interval, {self.interval:.4g}", fontsize=9)
                axes.set_xlabel(f"time constant in {self.time_unit}" if self.time_unit else "time constant")
            else:
                axes.set_xlabel("unit")
            axes.set(ylabel="correlation", ylim=(-0.03, 1.03))
            figure.legend_below("follows")

        return Sketch(self.words(), (4.7, 3.1 + 0.19 * (len(named) + 1)), draw)

    def __repr__(self) -> str:
        return self.words()


def units(model: Any, data: SeriesSet) -> Units | None:
    """Return the time constants of the units of a model's networks, and what they follow.

    Args:
        model: fitted estimator of any task.
        data: series.

    Returns:
        The units; None if no network steps through time, or no series has a sample.

    """
    networks = networks_of(model)
    rows = np.flatnonzero(data.lengths > 0)[:_SERIES]
    if len(rows) == 0:
        return None
    series = networks.encode(data[rows])
    found: list[Unit] = []
    for place, encoder in enumerate(networks.encoders_):
        names, followed = _followed(encoder.steps(series.data))
        for member in range(place, len(networks.networks_), len(networks.encoders_)):
            found += _units(networks, series, place, member, names, followed)
    if not found:
        return None
    return Units(found, data.describe().intervals.median, networks.encoder_.time_unit_)


def _units(
    networks: SeriesEstimator, series: EncodedSeries, position: int, member: int, names: Sequence[str], followed: Floats
) -> list[Unit]:
    """Return the units of the last layer of one network; none if it reads whole series."""
    layer = networks.networks_[member].recurrent
    if not isinstance(layer, Recurrent):
        return []
    sample = series.prepared(position).at(np.arange(len(series)))
    constants = time_constants(layer, sample.x, sample.dt, sample.lengths)
    with torch.inference_mode():
        y, _ = layer(sample.x, dt=sample.dt, lengths=sample.lengths)
    inside = torch.arange(y.shape[1]) < sample.lengths.unsqueeze(1)
    links = _correlations(y[inside].double().numpy(), followed)  # (H, C)
    H = len(links)
    scale = networks.encoders_[position].time_scale_
    units = []
    for unit in range(H):
        best = int(np.abs(links[unit]).argmax())
        constant = None if constants is None else float(constants[len(constants) - H + unit] * scale)
        units.append(Unit(member, unit, constant, names[best], float(links[unit, best])))
    return units


def _followed(steps: SeriesSet) -> tuple[list[str], Floats]:
    """Return what a unit can follow at each step: the last value of each numeric channel, and the time."""
    columns, names = [], []
    for place, name in enumerate(steps.channels):
        if name in steps.categories:
            continue
        column = steps.values[:, place].astype(np.float64)
        for low, high in zip(steps.offsets[:-1].tolist(), steps.offsets[1:].tolist(), strict=True):
            seen = np.where(np.isnan(column[low:high]), -1, np.arange(high - low))
            last = np.maximum.accumulate(seen)
            column[low:high] = np.where(last >= 0, column[low:high][last.clip(min=0)], np.nan)
        columns.append(column)
        names.append(name)
    starts = np.repeat(steps.times[steps.offsets[:-1].clip(max=max(len(steps.times) - 1, 0))], steps.lengths)
    return [*names, CLOCK], np.stack([*columns, steps.times - starts], axis=1)


def _correlations(states: Floats, followed: Floats) -> Floats:
    """Return (H, C) correlations over the rows in which a column is known; 0 if one of the two never changes."""
    links = np.zeros((states.shape[1], followed.shape[1]))
    for place in range(followed.shape[1]):
        known = ~np.isnan(followed[:, place])
        if known.sum() < max(3, _OFTEN * len(known)):
            continue
        a, b = states[known], followed[known, place]
        a, b = a - a.mean(axis=0), b - b.mean()
        size = np.sqrt((a**2).sum(axis=0) * (b**2).sum())
        links[:, place] = np.divide(b @ a, size, out=np.zeros(len(size)), where=size > 1e-12)
    return links


def _axis(constants: Floats, interval: float | None) -> tuple[float, float]:
    """Return the limits of the axis of time constants, which includes nearly all of them and the median interval."""
    low, high = np.quantile(constants, [0.01, 0.99])
    ends = [low, high] if not interval else [min(low, interval), max(high, interval)]
    return float(ends[0]) / 1.1, min(float(ends[1]) * 1.1, float(ends[0]) * 1e6)
