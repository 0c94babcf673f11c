"""Runs a layer and records what its liquid cells read and returned."""

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
    """What went into every liquid cell of a layer and what came out: lists over cells, of (T, B, ·)."""

    output: Tensor
    states: list[Tensor]
    inputs: list[Tensor]
    before: list[Tensor]
    dt: Tensor


def record(layer: Recurrent, x: Tensor, h0: Any, dt: Any, lengths: Any) -> Recording:
    """Run a layer over samples and record what every liquid cell reads and returns.

    Args:
        layer: the layer; it is as before when this returns.
        x: (B, T, D), or as the layer takes it, with at least one sample; a state, intervals and lengths likewise.
        h0: the state to start from.
        dt: the intervals.
        lengths: (B,) samples in each series.

    Raises:
        TypeError: a liquid cell that does not take one step of its own solver per sample, or a layer that returns
            something else than outputs and a state: nothing can be compiled or measured there.

    """
    witnesses = [_Witness(cell) for cell in liquid_cells(layer)]
    try:
        result = layer(x, h0, dt=dt, lengths=lengths)
    finally:
        for witness in witnesses:
            witness.leave()
    pair = isinstance(result, tuple) and len(result) == 2
    if not pair or not isinstance(result[0], Tensor) or result[0].shape[:-1] != x.shape[:-1]:
        raise TypeError(
            f"`ltc` must return its outputs, shaped like `x`, and its state, as lt.Recurrent does; "
            f"the forward of {type(layer).__name__} does not. Compile the layer before you extend it."
        )
    samples = x.shape[1] if x.dim() == 3 and layer.batch_first else x.shape[0]
    for witness in witnesses:
        witness.check(samples)
    inputs, before, spans, after = zip(*(witness.stacked() for witness in witnesses), strict=True)
    return Recording(result[0], list(after), list(inputs), list(before), spans[0])


@dataclass
class _Witness:
    """Records the calls of one cell, and counts how often it asks its solver."""

    cell: LTCCell
    calls: list[tuple[Tensor, ...]] = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        self._solver = self.cell.solver
        self.cell.solver = _Counting(self._solver, self)
        self._hook = self.cell.register_forward_hook(self._keep, with_kwargs=True)

    def _keep(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        named = dict(zip(("x", "state", "dt"), args, strict=False)) | kwargs
        self.calls.append((named["x"], named["state"][0], named["dt"], result[1][0]))

    def leave(self) -> None:
        """Put the cell back as it was."""
        self._hook.remove()
        self.cell.solver = self._solver

    def check(self, samples: int) -> None:
        """Refuse a cell that was not called once per sample, or that did not ask its solver each time."""
        name = type(self.cell).__name__
        if len(self.calls) != samples:
            raise TypeError(
                f"`ltc` must call every liquid cell once per sample; its {name} was called {len(self.calls)} times for "
                f"{samples} samples. Use each cell in one place only, and call it by its forward."
            )
        if self.asked < samples:
            raise TypeError(
                f"`ltc` must have liquid cells that take their steps with `solver`; {name} has a forward of its own "
                "that does not ask it, so that another solver would change nothing. Compile a layer of plain LTCCell."
            )

    def stacked(self) -> list[Tensor]:
        """Return inputs, states before, intervals and states after, each (T, B, ·)."""
        return [torch.stack(part) for part in zip(*self.calls, strict=True)]


class _Counting(Solver):
    """A solver that tells a witness each time it is asked."""

    def __init__(self, solver: Solver, witness: _Witness) -> None:
        self._solver, self._witness = solver, witness

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        self._witness.asked += 1
        return self._solver.step(drive, x, h)

    def integrate(self, drive: Drive, x: Tensor, dt: Tensor, unfolds: int) -> Tensor:
        self._witness.asked += 1
        return self._solver.integrate(drive, x, dt, unfolds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._solver, name)
