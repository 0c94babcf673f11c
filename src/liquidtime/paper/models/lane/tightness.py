"""A trained liquid network along the test run: by its own solver, by a fine solver, and in closed form."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from liquidtime.cells import LTCCell
from liquidtime.closed_form import algorithm_one
from liquidtime.closed_form.liquid_layer import with_solver
from liquidtime.files.contents import tensors_from_bytes
from liquidtime.layers import LTC
from liquidtime.ops import using_backend
from liquidtime.ops.backend import native_is_live
from liquidtime.paper.datasets import Split
from liquidtime.paper.fitting import Outcome, Settings, Trial, count_weights
from liquidtime.paper.models.lane.features import drives
from liquidtime.paper.models.lane.head import shared_head
from liquidtime.paper.models.lane.model import LaneModel, driver_file
from liquidtime.solvers import RK4, Solver

FINE = 16
"""RK4 steps per sample of the fine traces."""
FIRST = 2
"""Number of first samples for which the error is also given, before it has accumulated."""
REPEATS = 3
"""Number of repetitions of each timed run."""


@dataclass(frozen=True)
class Course:
    """A trained network and its inputs on the test run.

    Attributes:
        ltc: the network.
        x: (1, T, 64) features.
        dt: (1, T) seconds since the previous image.
        y: (T,) steering of the human driver.

    """

    ltc: LTC
    x: Tensor
    dt: Tensor
    y: Tensor


def course(trial: Trial, ncp: LaneModel, settings: Settings) -> Course:
    """Return the liquid network of the trial's seed, from its file or trained, and the features of the test run."""
    ltc = cast(LTC, ncp.make(settings))
    if trial.kept is None:
        raise ValueError("the trained network is passed on as a file; `trial` must have a folder `kept`.")
    path = driver_file(trial.kept, ncp.name, trial.seed)
    if not path.exists():
        ncp.fit(trial, settings)
    ltc.load_state_dict(tensors_from_bytes(path.read_bytes()))
    head = shared_head(trial.split, trial.kept, trial.folder, trial.progress)
    drive = drives(trial.split.test, head)[0]
    return Course(ltc.requires_grad_(False).eval(), drive.features.unsqueeze(0), drive.dt.unsqueeze(0), drive.y[:, 0])


def traces(on: Course, solver: Solver, unfolds: int) -> Tensor:
    """Return the potentials (T, H) of all neurons along the run in float64, by a solver from its own last state."""
    cell = copy.deepcopy(cast(LTCCell, on.ltc.cells[0])).double()
    cell.solver, cell.unfolds = solver, unfolds
    x, dt = on.x.double(), on.dt.double()
    state, potentials = cell.initial_state(x[:, 0]), []
    for step in range(x.shape[1]):
        _, state = cell(x[:, step], state, dt[:, step])
        potentials.append(state[0][0])
    return torch.stack(potentials)


def from_recorded(on: Course, recorded: Tensor, *, repaired: bool) -> Tensor:
    """Return (T, H) Algorithm 1 without recursion: from the start, with the recorded presynaptic activity (T, H)."""
    cell = copy.deepcopy(cast(LTCCell, on.ltc.cells[0])).double()
    t = on.dt.double().cumsum(1)
    start = torch.zeros(1, recorded.shape[1], dtype=torch.float64)
    return algorithm_one(cell, on.x.double(), recorded.unsqueeze(0), t, start, repaired=repaired)[0]


_LAST: dict[tuple[Split, Path | None, int], tuple[Course, Tensor, float]] = {}
"""The most recent reference, which methods that run in one process share."""


def reference(trial: Trial, ncp: LaneModel, settings: Settings) -> tuple[Course, Tensor, float]:
    """Return the course, its fine traces (T, H), and the largest change of a potential when steps were halved."""
    key = (trial.split, trial.kept, trial.seed)
    if key not in _LAST:
        on = course(trial, ncp, settings)
        with torch.no_grad():
            fine = traces(on, RK4(), FINE)
            change = float((fine - traces(on, RK4(), FINE // 2)).abs().max())
        _LAST.clear()
        _LAST[key] = (on, fine, change)
    return _LAST[key]


@dataclass(frozen=True)
class TightnessModel:
    """One way to compute the neurons of a trained liquid network.

    Attributes:
        title: title in our tables.
        ncp: network that is trained.
        ncp_settings: settings of the network.
        solver: solver of each step; for recorded activity, Algorithm 1 in one of its forms.
        unfolds: steps per sample.
        recorded: whether there is no recursion: presynaptic activity is that of the fine solution, and time counts
            from the start.
        paper: empty, as the paper's figure is in the legend of the table.

    """

    title: str
    ncp: LaneModel
    ncp_settings: Settings
    solver: Solver
    unfolds: int = 1
    recorded: bool = False
    paper: tuple[str, ...] = ()

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Compare the traces of the neurons with the fine solution and the network's own solver; nothing is trained.

        Args:
            trial: trial with the seed of the trained network.
            settings: ignored; those of the network are in `ncp_settings`.

        """
        on, fine, change = reference(trial, self.ncp, self.ncp_settings)
        with torch.no_grad():
            cell = cast(LTCCell, on.ltc.cells[0])
            own = traces(on, cell.solver, cell.unfolds)
            potentials = self.traces(on, fine)
            steering = cell.read_out(potentials)[:, 0].nan_to_num(0.0).clamp(-1, 1)
            against = {"fine": fine, "own": own}
            figures: dict[str, Any] = {
                f"against_{name}": _errors(potentials, trace, float(cell.output_weight[0]))
                for name, trace in against.items()
            }
            figures["variance_per_neuron"] = fine.var(dim=0, correction=0).tolist()
            figures["fine_change"] = change
            figures["speed"] = self.speed(on, fine)
        return Outcome(
            prediction=steering.numpy().reshape(len(trial.split.test), -1),
            weights=count_weights(on.ltc),
            train_settings={"reference": f"rk4 x {FINE}", "own_solver": f"{cell.solver.name} x {cell.unfolds}"},
            figures=figures,
        )

    def traces(self, on: Course, fine: Tensor) -> Tensor:
        """Return the potentials (T, H) of all neurons."""
        if self.recorded:
            return from_recorded(on, fine, repaired=bool(getattr(self.solver, "repaired", True)))
        return traces(on, self.solver, self.unfolds)

    def speed(self, on: Course, fine: Tensor) -> dict[str, Any]:
        """Return the best time of several runs over all samples in float32, alternating with runs of the own solver.

        Both run on the plain loop; if there is a compiled kernel, it is timed with the own solver as well.
        """
        if self.recorded:
            runs: dict[str, Callable[[], object]] = {"seconds": lambda: self.traces(on, fine)}
        else:
            compiled = with_solver(on.ltc, self.solver, self.unfolds)
            runs = {"seconds": lambda: compiled(on.x, dt=on.dt)}
        with using_backend("reference"):
            potentials = _best({**runs, "seconds_own": lambda: on.ltc(on.x, dt=on.dt)})
        if native_is_live():
            potentials |= _best({"seconds_own_kernel": lambda: on.ltc(on.x, dt=on.dt)})
        return {**potentials, "speedup": potentials["seconds_own"] / potentials["seconds"]}


def _best(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    best = dict.fromkeys(runs, math.inf)
    for _ in range(REPEATS):
        for name, run in runs.items():
            begun = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - begun)
    return best


def _errors(potentials: Tensor, trace: Tensor, weight: float) -> dict[str, Any]:
    """Return mean squared errors; `output` is that of steering, an affine map of the motor neuron, which is the first.

    What is too large for float64 is None, and `overflow` is the first sample at which a potential was too large.
    """
    squares = (potentials - trace).square().mean(dim=0)
    finite = torch.isfinite(potentials).all(dim=1)
    return {
        "mse": _number(squares.mean()),
        "mse_per_neuron": [_number(square) for square in squares],
        "mse_motor": _number(squares[0]),
        "mse_output": _number(squares[0] * weight**2),
        "mse_first": _number((potentials - trace)[:FIRST].square().mean()),
        "largest": _number((potentials - trace).abs().max()),
        "overflow": None if bool(finite.all()) else int((~finite).nonzero()[0, 0]),
    }


def _number(value: Tensor) -> float | None:
    return float(value) if math.isfinite(float(value)) else None
