"""Measures a compiled network against the differential equation that it was compiled from."""

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
"""A halving of the fine solver's step matters while it changes a state by more than this share of the error."""
ROUNDING = 1e-9
"""… or by more than this share of the size of the states, where the error itself is smaller still."""
MOST_UNFOLDS = 4096
NO_SAMPLES = "`x` must have at least one sample to measure the error on; got none. Leave it out."
REPEATS, LONG = 5, 0.25
"""How often a run is timed; one of more than this many seconds is steady enough to be timed once."""


def measure(
    original: Recurrent,
    compiled: Recurrent,
    method: str,
    x: Tensor,
    h0: Any = None,
    dt: Any = None,
    lengths: Tensor | Sequence[int] | None = None,
) -> ErrorReport:
    """Return the error of `compiled` against the differential equation of `original`, and the speed-up.

    The equation is solved in float64 by RK4. The first number of steps is what its stability needs, from the rates met
    on the way; it is doubled until that moves no potential and no output by more than 1 % of the compiled
    layer's root mean square error (at most that of the potentials themselves), or by 1e-9 of the potentials' root mean
    square where that is more.
    If 4096 steps per sample do not settle it, the report says so. Dropout is off.

    Args:
        original: the layer before, unchanged by this.
        compiled: the layer after, unchanged by this.
        method: its name in the report.
        x: (B, T, D), or as the layer takes it; a state, intervals and lengths likewise.
        h0: the state to start from.
        dt: the intervals.
        lengths: (B,) samples in each series.

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
    output_error = (fast.output.double() - exact.output).square().sum()  # 0 in the padding, which does not count
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
    """Return the fine solution, its steps per sample, what the last halving changed, and whether it settled."""
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
            # An error beyond the size of the states, or NaN, must not excuse a coarse solution: hence this order.
            if change <= max(ROUNDING * size, MATTERS * min(size, math.sqrt(_mean_square(errors)))):
                return finer, unfolds, change, True
        solution = finer
        unfolds *= 2
    return cast(Recording, solution), unfolds // 2, change, False


def _stable_unfolds(original: Recurrent, fast: Recording, inside: Tensor) -> int:
    """Return the steps with which h·rate is at most 1 for every neuron at every sample of a run.

    RK4 is stable up to 2.78; the rest is for rates that the fast run did not meet, and the halving finds what is left.
    """
    needed = 1.0
    for cell, inputs, state in zip(liquid_cells(original), fast.inputs, fast.states, strict=True):
        rate, _ = cell.drive(inputs.double().flatten(0, 1))(state.double().flatten(0, 1))  # (T·B, H)
        spans = rate * fast.dt.double().flatten().unsqueeze(1)
        needed = max(needed, float(spans[inside.flatten()].max()))
    if needed > MOST_UNFOLDS / 2:
        raise ValueError(
            f"`dt` spans up to {needed:.3g} time constants of a neuron, and a fine solution of that needs more than "
            f"{MOST_UNFOLDS} steps per sample. Pass `x` and `dt` with shorter intervals to measure the error on."
        )
    return 1 << math.ceil(math.log2(needed))


def _one_step(cell: LTCCell, inputs: Tensor, before: Tensor, dt: Tensor) -> Tensor:
    """Return the states (T, B, H) that a cell gives at every sample from the states before it, all at once."""
    _, (after,) = cell(inputs.flatten(0, 1), (before.flatten(0, 1),), dt.flatten())
    return cast(Tensor, after.unflatten(0, dt.shape))


def _best_times(layers: list[Recurrent], x: Tensor, h0: Any, dt: Any, lengths: Any) -> list[float]:
    """Return the best of several times of each layer's run, taken in turn so that all meet the same machine.

    All run on the plain loop: the methods are compared, not the one that has a kernel with those that have none.
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
