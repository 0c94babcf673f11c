"""A cell whose product with the input is computed for all samples at once."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor

from liquidtime._types import State
from liquidtime.cells.cell import Cell
from liquidtime.cells.plain import is_as_defined, is_plain


class HoistedCell(Cell):
    """A cell in two parts, of which the first does not depend on the state.

        y_k, state_k = advance(project(x_k, dt_k), state_{k-1}, dt_k)

    `scan` calls `project` once for the whole sequence. A cell with hooks, or with a `forward` of its own, runs in the
    plain loop.
    """

    @abstractmethod
    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the inputs of the steps, (..., ·), from samples x (..., D) and intervals dt (...)."""

    @abstractmethod
    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, ·), state a tuple of (B, ·) tensors, dt (B,)."""

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state as returned by `initial_state`, dt (B,)."""
        return self.advance(self.project(x, dt), state, dt)

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Run the cell over a sequence, with one product for all inputs; see `Cell.scan`."""
        self.check_stored(x, state, dt, lengths)
        own = type(self).forward is HoistedCell.forward and is_as_defined(HoistedCell)
        if not own or not is_plain(self):
            return super().scan(x, state, dt, lengths)
        return self._loop(self.project, self.advance, x, state, dt, lengths)
