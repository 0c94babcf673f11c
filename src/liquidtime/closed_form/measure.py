"""Measures the error of a compiled network relative to the differential equation from which it was compiled."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from liquidtime._checks import check_lengths
from liquidtime.cells import LTCCell
from liquidtime.closed_form.error_report import ErrorReport
from liquidtime.closed_form.liquid_layer import liquid_cells, with_solver
from liquidtime.closed_form.recording import Recording, record
from liquidtime.layers import Recurrent
from liquidtime.ops import using_backend
from liquidtime.solvers import RK4

MATTERS = 0.01
"""Halving the step of the fine solver matters if it changes a state by more than this fraction of the error, …"""
ROUNDING = 1e-9
"""… or by more than this fraction of the size of the states, if the error itself is even smaller."""
MOST_UNFOLDS = 4096
NO_SAMPLES = "`x` must have at least one sample to measure the error on; got none. Leave it out."
REPEATS, LONG = 5, 0.25
"""How often a run is timed; a run of more than this many seconds is timed only once."""


def measure(
    original: Recurrent,
    compiled: Recurrent,
    method: str,
    x: Tensor,
    h0: Any = None,
    dt: Any = None,
    lengths: Tensor | Sequence[int] | None = None,
) -> ErrorReport:
    """Return the error of `compiled` relative to the differential equation of `original`, and the speed-up.

    The equation is solved in float64 by RK4. The initial number of steps is that required for stability with the rates
    that occur; it is doubled until this changes no potential and no output by more than 1 % of the root mean square
    error of the compiled layer (at most that of the potentials themselves), or by more than 1e-9 of the root mean
    square of the potentials if that is larger. If 4096 steps per sample are not enough, the report says so. Dropout is
    off.

    Args:
        original: the layer before compilation; it is not changed.
        compiled: the layer after compilation; it is not changed.
        method: its name in the report.
        x: (B, T, D), or in the form that the layer accepts, as are the state, intervals and lengths.
        h0: the initial state.
        dt: the intervals.
        lengths: (B,) number of samples in each series.

    """
    compiled = copy.deepcopy(compiled).eval()
    if x.numel() == 0:
        raise ValueError(NO_SAMPLES)
    with torch.no_grad():
        fast = record(compiled, x, h0, dt, lengths)
        T, B = fast.dt.shape
        inside = torch.ones(T, B, dtype=torch.bool, device=x.device)
        if lengths is not None:
            inside = torch.arange(T, device=x.device).unsqueeze(1) < check_lengths(lengths, B, T, x.device)
        if not bool(inside.any()):
            raise ValueError(NO_SAMPLES)
        exact, unfolds, change, settled = _fine(original, fast, inside, x, h0, dt, lengths)
        errors = [(a.double() - b)[inside] for a, b in zip(fast.states, exact.states, strict=True)]
        steps = [
            (_one_step(cell, inputs, before, exact.dt) - after)[inside]
            for cell, inputs, before, after in zip(
                liquid_cells(copy.deepcopy(compiled).double()), exact.inputs, exact.before, exact.states, strict=True
            )
        ]
        own = copy.deepcopy(original).eval()
        fine = with_solver(original, RK4(), unfolds).eval()
        times = _best_times([compiled, own, fine], x, h0, dt, lengths)
    potentials = torch.cat([part[inside] for part in exact.states], dim=1)
    output_error = (fast.output.double() - exact.output).square().sum()  # 0 in the padding
    cell = liquid_cells(original)[0]
    return ErrorReport(
        method=method,
        mse=_mean_square(errors),
        mse_per_neuron=tuple(tuple(error.square().mean(dim=0).tolist()) for error in errors),
        mse_step=_mean_square(steps),
        mse_output=float(output_error) / (int(inside.sum()) * exact.output.shape[-1]),
        max_error=max(float(error.abs().max()) for error in errors),
        state_variance=float(potentials.var(dim=0, correction=0).mean()),
        reference=f"rk4 x {unfolds}",
        reference_unfolds=unfolds,
        reference_change=change,
        reference_settled=settled,
        own_solver=f"{cell.solver.name} x {cell.unfolds}",
        seconds=times[0],
        speedup=times[1] / times[0],
        speedup_fine=times[2] / times[0],
        series=B,
        samples=int(inside.sum()),
        dt_range=(float(fast.dt[inside].min()), float(fast.dt[inside].max())),
    )


def _fine(
    original: Recurrent, fast: Recording, inside: Tensor, x: Tensor, h0: Any, dt: Any, lengths: Any
) -> tuple[Recording, int, float, bool]:
    """Return the fine solution, its steps per sample, the change by the last halving, and whether it settled."""
    original = copy.deepcopy(original).double().eval()
    x, h0 = x.double(), _double(h0)
    unfolds = _stable_unfolds(original, fast, inside)
    solution, change = None, math.inf
    while unfolds <= MOST_UNFOLDS:
        finer = record(with_solver(original, RK4(), unfolds), x, h0, dt, lengths)
        if solution is not None:
            pairs = zip([solution.output, *solution.states], [finer.output, *finer.states], strict=True)
            change = max(float((a - b).abs().max()) for a, b in pairs)
            errors = [(a.double() - b)[inside] for a, b in zip(fast.states, finer.states, strict=True)]
            size = math.sqrt(_mean_square([part[inside] for part in finer.states]))
            # An error larger than the states, or NaN, must not justify a coarse solution: hence this order.
            if change <= max(ROUNDING * size, MATTERS * min(size, math.sqrt(_mean_square(errors)))):
                return finer, unfolds, change, True
        solution = finer
        unfolds *= 2
    return cast(Recording, solution), unfolds // 2, change, False


def _stable_unfolds(original: Recurrent, fast: Recording, inside: Tensor) -> int:
    """Return the number of steps with which h·rate is at most 1 for every neuron at every sample of a run.

    RK4 is stable up to 2.78; the margin is for rates that did not occur in the fast run, and halving finds the rest.
    """
    needed = 1.0
    for cell, inputs, state in zip(liquid_cells(original), fast.inputs, fast.states, strict=True):
        rate, _ = cell.drive(inputs.double().flatten(0, 1))(state.double().flatten(0, 1))  # (T·B, H)
        spans = rate * fast.dt.double().flatten().unsqueeze(1)
        needed = max(needed, float(spans[inside.flatten()].max()))
    if needed > MOST_UNFOLDS / 2:
        raise ValueError(
            f"`dt` spans up to {needed:.3g} time constants of a neuron, and its fine solution needs more than "
            f"{MOST_UNFOLDS} steps per sample. Pass `x` and `dt` with shorter intervals to measure the error on."
        )
    return 1 << math.ceil(math.log2(needed))


def _one_step(cell: LTCCell, inputs: Tensor, before: Tensor, dt: Tensor) -> Tensor:
    """Return the states (T, B, H) that a cell computes for all samples from the states before them."""
    _, (after,) = cell(inputs.flatten(0, 1), (before.flatten(0, 1),), dt.flatten())
    return cast(Tensor, after.unflatten(0, dt.shape))


def _best_times(layers: list[Recurrent], x: Tensor, h0: Any, dt: Any, lengths: Any) -> list[float]:
    """Return the best of several run times of each layer, measured alternately so that conditions are the same for all.

    All layers run in the plain loop, so that methods are compared and not kernels with plain loops.
    """
    best = [math.inf] * len(layers)
    layers[0](x, h0, dt=dt, lengths=lengths)
    for _ in range(REPEATS):
        for index, layer in enumerate(layers):
            if LONG < best[index] < math.inf:
                continue
            with using_backend("reference"):
                start = time.perf_counter()
                layer(x, h0, dt=dt, lengths=lengths)
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def _mean_square(parts: list[Tensor]) -> float:
    return float(torch.cat([part.flatten() for part in parts]).square().mean())


def _double(h0: Any) -> Any:
    if h0 is None:
        return None
    return h0.double() if isinstance(h0, Tensor) else tuple(part.double() for part in h0)
