"""Runs a layer and records the inputs and outputs of its liquid cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from liquidtime._types import Drive
from liquidtime.cells import LTCCell
from liquidtime.closed_form.liquid_layer import liquid_cells
from liquidtime.layers import Recurrent
from liquidtime.solvers import Solver


@dataclass(frozen=True)
class Recording:
    """Inputs and outputs of every liquid cell of a layer: lists over cells, of (T, B, ·)."""

    output: Tensor
    states: list[Tensor]
    inputs: list[Tensor]
    before: list[Tensor]
    dt: Tensor


def record(layer: Recurrent, x: Tensor, h0: Any, dt: Any, lengths: Any) -> Recording:
    """Run a layer over samples and record the inputs and outputs of every liquid cell.

    Args:
        layer: the layer; it is not changed.
        x: (B, T, D), or in the form that the layer accepts, with at least one sample; as are the state, intervals and
            lengths.
        h0: the initial state.
        dt: the intervals.
        lengths: (B,) number of samples in each series.

    Raises:
        TypeError: a liquid cell does not take exactly one step of its own solver per sample, or the layer returns
            something else than outputs and a state: nothing can be compiled or measured then.

    """
    recorders = [_CellRecorder(cell) for cell in liquid_cells(layer)]
    try:
        result = layer(x, h0, dt=dt, lengths=lengths)
    finally:
        for recorder in recorders:
            recorder.leave()
    pair = isinstance(result, tuple) and len(result) == 2
    if not pair or not isinstance(result[0], Tensor) or result[0].shape[:-1] != x.shape[:-1]:
        raise TypeError(
            f"`ltc` must return its outputs, shaped like `x`, and its state, as lt.Recurrent does; "
            f"the forward of {type(layer).__name__} does not. Compile the layer before you extend it."
        )
    samples = x.shape[1] if x.dim() == 3 and layer.batch_first else x.shape[0]
    for recorder in recorders:
        recorder.check(samples)
    inputs, before, spans, after = zip(*(recorder.stacked() for recorder in recorders), strict=True)
    return Recording(result[0], list(after), list(inputs), list(before), spans[0])


@dataclass
class _CellRecorder:
    """Records the calls of one cell, and counts how often it calls its solver."""

    cell: LTCCell
    calls: list[tuple[Tensor, ...]] = field(default_factory=list)
    solver_calls: int = 0

    def __post_init__(self) -> None:
        self._solver = self.cell.solver
        self.cell.solver = _Counting(self._solver, self)
        self._hook = self.cell.register_forward_hook(self._keep, with_kwargs=True)

    def _keep(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        named = dict(zip(("x", "state", "dt"), args, strict=False)) | kwargs
        self.calls.append((named["x"], named["state"][0], named["dt"], result[1][0]))

    def leave(self) -> None:
        """Restore the cell."""
        self._hook.remove()
        self.cell.solver = self._solver

    def check(self, samples: int) -> None:
        """Refuse a cell that was not called once per sample, or that did not call its solver each time."""
        name = type(self.cell).__name__
        if len(self.calls) != samples:
            raise TypeError(
                f"`ltc` must call every liquid cell once per sample; its {name} was called {len(self.calls)} times for "
                f"{samples} samples. Use each cell in one place only, and call it by its forward."
            )
        if self.solver_calls < samples:
            raise TypeError(
                f"`ltc` must have liquid cells that use `solver` for their steps; {name} has a forward of its own "
                "that does not call it, so that another solver would change nothing. Compile a layer of plain LTCCell."
            )

    def stacked(self) -> list[Tensor]:
        """Return inputs, states before, intervals and states after, each (T, B, ·)."""
        return [torch.stack(part) for part in zip(*self.calls, strict=True)]


class _Counting(Solver):
    """A solver that notifies a recorder of each of its calls."""

    def __init__(self, solver: Solver, recorder: _CellRecorder) -> None:
        self._solver, self._recorder = solver, recorder

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        self._recorder.solver_calls += 1
        return self._solver.step(drive, x, h)

    def integrate(self, drive: Drive, x: Tensor, dt: Tensor, unfolds: int) -> Tensor:
        self._recorder.solver_calls += 1
        return self._solver.integrate(drive, x, dt, unfolds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._solver, name)
