"""The states of a network over one series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from liquidtime.data import SeriesSet
from liquidtime.evaluation.insight.question import networks_of
from liquidtime.evaluation.insight.shown import Shown, Sketch
from liquidtime.evaluation.insight.units import Unit, Units, units
from liquidtime.layers import Recurrent

if TYPE_CHECKING:
    from liquidtime.evaluation.drawing import Drawing

Floats = npt.NDArray[np.float64]
_LINES = 6


@dataclass(frozen=True, eq=False, repr=False)
class StateTrajectories(Shown):
    """The states of a network over one series.

    Args:
        id: id of the series.
        times: (T,) times of the steps.
        states: (T, U) outputs of the last layer of the first network.
        units: the U units.
        time_unit: unit of the times.
    """

    id: str
    times: Floats
    states: Floats
    units: Sequence[Unit]
    time_unit: str | None

    def caption(self) -> str:
        """Return the caption of the figure."""
        return (
            f"States of the network over series {self.id}: the {min(_LINES, len(self.units))} of {len(self.units)} "
            "units that change most, with their time constants and what they follow."
        )

    def sketch(self) -> Sketch:
        """Return the units that change most, as lines."""
        order = np.argsort(-np.ptp(self.states, axis=0), kind="stable")[:_LINES]

        def draw(figure: Drawing) -> None:
            axes, palette = figure.axes[0], figure.palette
            colours = [colour for number, colour in enumerate(palette.series) if number != 2]
            for colour, place in reversed([*zip(colours, order.tolist(), strict=False)]):
                unit = self.units[place]
                clock = f" {self.time_unit}" if self.time_unit else ""
                constant = "" if unit.time_constant is None else f" ({unit.time_constant:.3g}{clock})"
                label = f"unit {unit.unit}{constant}, follows {unit.follows[:24]}"
                axes.step(self.times, self.states[:, place], where="post", color=colour, linewidth=1.3, label=label)
            axes.set_xlabel(f"time in {self.time_unit}" if self.time_unit else "time")
            axes.set_ylabel("state")
            figure.legend_below()

        return Sketch(self.caption(), (4.7, 2.7 + 0.19 * len(order)), draw)

    def __repr__(self) -> str:
        return self.caption()


def state_trajectories(
    model: Any, data: SeriesSet, row: int = 0, known: Units | None = None
) -> StateTrajectories | None:
    """Return the states of the first network over one series.

    Args:
        model: fitted estimator of any task.
        data: series.
        row: position of the series to follow.
        known: result of `units`; None computes it from `data`.

    Returns:
        The states; None if the network does not step through time, or the series has no samples.

    """
    networks = networks_of(model)
    layer = networks.networks_[0].recurrent
    described = known or units(model, data)
    series = networks.encode(data[[row]])
    prepared = series.prepared()
    if not isinstance(layer, Recurrent) or described is None or len(prepared.times) == 0:
        return None
    sample = prepared.at([0])
    with torch.inference_mode():
        y, _ = layer(sample.x, dt=sample.dt, lengths=sample.lengths)
    mine = [unit for unit in described.units if unit.network == 0]
    times, name = prepared.times, str(data.ids[row])
    return StateTrajectories(name, times, y[0].double().numpy(), mine, networks.encoder_.time_unit_)
