"""Cost against one size: the paper's two complexity tables, as things to measure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch

from liquidtime.bench import contenders
from liquidtime.bench.contenders import contender
from liquidtime.bench.measure import sequence_run, step_run
from liquidtime.bench.ode_rnn import ATOL, RTOL, Field
from liquidtime.bench.shape import Shape
from liquidtime.bench.timing import Run, Times, interleaved

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

    def run(self, model: str, size: int) -> Run:
        """Return what is timed of a model at one size."""
        return _FIGURES[self.figure](model, self.at(size))

    def why_missing(self, model: str) -> str | None:
        """Return why a model cannot be measured here, or None where it can."""
        if model in ORDERS or model == ADAPTIVE:
            return None if contenders.is_installed("torchdiffeq") else "torchdiffeq is not installed"
        return contenders.why_missing(model)


def solver_run(model: str, shape: Shape) -> Run:
    """Return K = T steps of a solver through a vector field of H units; for "CfC", K samples."""
    if model not in ORDERS and model != ADAPTIVE:
        return sequence_run(contender(model), shape)
    from torchdiffeq import odeint

    torch.manual_seed(0)
    field, h = Field(shape.H, shape.U), torch.randn(shape.B, shape.H)
    grid = torch.linspace(0, 1, shape.T + 1)
    return Run(lambda: odeint(lambda t, h: field(h), h, grid, method=model, rtol=RTOL, atol=ATOL), grad=False)


_FIGURES: dict[str, Callable[[str, Shape], Run]] = {
    "sequence": lambda model, shape: sequence_run(contender(model), shape),
    "step": lambda model, shape: step_run(contender(model), shape),
    "solver": solver_run,
}


def _models(recurrent: float | None, transformer: float | None) -> dict[str, float | None]:
    return {"nn.RNN": recurrent, "ODE-RNN": recurrent, "Transformer": transformer, "CfC": recurrent}


_WIDTHS = (32, 64, 128, 256, 512, 1024)

SWEEPS: tuple[Sweep, ...] = (
    Sweep(
        "sequence-T",
        "sequence",
        "a whole sequence, against its length",
        "T",
        (64, 128, 256, 512, 1024, 2048),
        Shape(4, 64, 16, 32),
        _models(1, 2),
    ),
    Sweep(
        "sequence-H",
        "sequence",
        "a whole sequence, against the hidden units",
        "H",
        _WIDTHS,
        Shape(16, 64, 16, 64),
        _models(1, 1),
    ),
    Sweep(
        "sequence-B",
        "sequence",
        "a whole sequence, against the batch",
        "B",
        (1, 4, 16, 64, 256, 1024),
        Shape(16, 32, 16, 64),
        _models(None, None),
    ),
    Sweep(
        "step-n",
        "step",
        "one more sample, against those before it",
        "n",
        (128, 256, 512, 1024, 2048, 4096, 8192),
        Shape(4, 64, 16, 64),
        _models(0, 1),
    ),
    Sweep(
        "step-H", "step", "one more sample, against the hidden units", "H", _WIDTHS, Shape(4, 64, 16, 64), _models(1, 1)
    ),
    Sweep(
        "solver-K",
        "solver",
        "an interval in K solver steps; of the CfC, K samples",
        "K",
        (8, 16, 32, 64, 128, 256),
        Shape(16, 64, 16, 64),
        {**dict.fromkeys(ORDERS, 1.0), ADAPTIVE: None, "CfC": 1.0},
    ),
)


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
