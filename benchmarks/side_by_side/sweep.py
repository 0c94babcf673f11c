"""Cost against one size: the paper's two complexity tables, as things to measure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch

from benchmarks.side_by_side import contenders
from benchmarks.side_by_side.contenders import contender
from benchmarks.side_by_side.measure import timed_sequence, timed_step
from benchmarks.side_by_side.ode_rnn import ATOL, RTOL, Field
from benchmarks.side_by_side.shape import Shape
from benchmarks.side_by_side.timing import Timed, Times, interleaved

LIMIT = 4.0
"""Seconds of one call after which a model is not taken to larger sizes."""

ORDERS = {"euler": 1, "midpoint": 2, "rk4": 4}
ADAPTIVE = "dopri5"


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Costs of several models while one size grows.

    Args:
        name: as it is asked for.
        figure: of which plot it is a panel.
        question: in words.
        axis: the size that grows: "T", "H", "B", "n" (samples before the one that is timed) or "K" (solver steps).
        sizes: of that axis.
        shape: the others. U is always H.
        models: by name, the exponent that the paper states, or None where it states none.

    """

    name: str
    figure: str
    question: str
    axis: str
    sizes: tuple[int, ...]
    shape: Shape
    models: dict[str, float | None]
    group: str = "scaling"

    def at(self, size: int) -> Shape:
        """Return the shape at one size of the axis."""
        axis = "T" if self.axis in ("n", "K") else self.axis
        shape = dataclasses.replace(self.shape, **{axis: size})
        return dataclasses.replace(shape, U=shape.H)

    def reduced(self) -> Sweep:
        """Return the sweep over sizes that take milliseconds, to see that it runs."""
        return dataclasses.replace(self, sizes=(4, 8, 16), shape=self.shape.reduced())

    def run(self, model: str, size: int) -> Timed:
        """Return what is timed of a model at one size."""
        return _FIGURES[self.figure](model, self.at(size))

    def why_missing(self, model: str) -> str | None:
        """Return why a model cannot be measured here, or None where it can."""
        if model in ORDERS or model == ADAPTIVE:
            return None if contenders.is_installed("torchdiffeq") else "torchdiffeq is not installed"
        return contenders.why_missing(model)


def timed_solver(model: str, shape: Shape) -> Timed:
    """Return K = T steps of a solver through a vector field of H units; for "CfC", K samples."""
    if model not in ORDERS and model != ADAPTIVE:
        return timed_sequence(contender(model), shape)
    from torchdiffeq import odeint

    torch.manual_seed(0)
    field, h = Field(shape.H, shape.U), torch.randn(shape.B, shape.H)
    grid = torch.linspace(0, 1, shape.T + 1)
    return Timed(lambda: odeint(lambda t, h: field(h), h, grid, method=model, rtol=RTOL, atol=ATOL), grad=False)


_FIGURES: dict[str, Callable[[str, Shape], Timed]] = {
    "sequence": lambda model, shape: timed_sequence(contender(model), shape),
    "step": lambda model, shape: timed_step(contender(model), shape),
    "solver": timed_solver,
}


def measure_sweep(sweep: Sweep, models: list[str], threads: int, repeats: int) -> Times:
    """Return the times by model, then by size, one for each repetition; models take turns at each size.

    A model that takes longer than `LIMIT` for one call is not taken to the sizes that follow.

    Args:
        sweep: what.
        models: of the sweep, those to measure.
        threads: how many.
        repeats: rounds at each size.

    """
    times: Times = {model: {} for model in models}
    going = list(models)
    for size in sweep.sizes:
        runs = {model: sweep.run(model, size) for model in going}
        found = interleaved(runs, threads=[threads], repeats=repeats, budget=LIMIT)
        for model in going:
            times[model][size] = found[model][threads]
        going = [model for model in going if min(found[model][threads]) < LIMIT]
    return times
