"""The base of networks with a fixed linear memory: its exact step, and a loop that builds each matrix once."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from liquidtime._checks import values_are_known
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell
from liquidtime.cells.plain import is_plain

TABLE = 2**24
"""Largest number of entries of the matrices of a batch of sequences."""
AT_ONCE = 64
"""Number of matrices that are built together, few enough to stay in the cache of the processor."""


class PolynomialMemoryCell(HoistedCell):
    """A cell that represents the past of one signal f by N coefficients c of orthogonal polynomials.

        c' = f·e0 + E·(c - f·e0),   E = `transition(span)`

    The coefficients follow a linear equation with fixed matrices. With f held over the interval this is its exact
    solution for any interval: e0, the coefficients of a constant 1, is where the memory of a constant rests. E depends
    on the span: the interval in units of the window, or the fraction of all time that is past. The state is (h, c,
    ...).
    """

    order: int

    @abstractmethod
    def spans(self, state: State, dt: Tensor) -> Tensor:
        """Return the spans (B, T) of steps that start from the state, for intervals dt (B, T)."""

    @abstractmethod
    def transition(self, span: Tensor) -> Tensor:
        """Return E (..., N, N) in double precision for spans (...)."""

    def rest(self, f: Tensor) -> Tensor:
        """Return the value at which the memory of a constant signal f (B, 1) rests: f·e0 (B, N)."""
        return torch.cat([f, f.new_zeros(f.shape[0], self.order - 1)], dim=1)

    @abstractmethod
    def move(self, projected: Tensor, state: State, dt: Tensor, E: Tensor) -> tuple[Tensor, State]:
        """Take one step with the matrix E of the memory: E (B, N, N), or (N, N) for all rows."""

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, ·), state (h (B, H), c (B, N), ...), dt (B,)."""
        span = self.spans(state, dt.unsqueeze(1)).squeeze(1)
        return self.move(projected, state, dt, self.transition(span).to(state[1].dtype))

    def remember(self, c: Tensor, f: Tensor, E: Tensor) -> Tensor:
        """Return the coefficients (B, N) after a step during which f (B, 1) is held."""
        rest = self.rest(f)
        left = c - rest
        moved = left @ E.mT if E.dim() == 2 else (E @ left.unsqueeze(-1)).squeeze(-1)
        return rest + moved.to(c.dtype)

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Run the cell over a sequence, building one matrix for each different span; see `Cell.scan`."""
        self.check_stored(x, state, dt, lengths)
        B, T = dt.shape
        learned = dt.requires_grad or state[-1].requires_grad
        if not B or not T or learned or not values_are_known(dt) or not is_plain(self):
            return super().scan(x, state, dt, lengths)
        inside = torch.ones_like(dt, dtype=torch.bool)
        if lengths is not None:
            inside = torch.arange(T, device=x.device) < lengths.unsqueeze(1)  # (B, T)
            x, dt = x.masked_fill(~inside.unsqueeze(-1), 0.0), dt.masked_fill(~inside, 0.0)
        known, which = torch.unique(self.spans(state, dt), return_inverse=True)  # (K,), (B, T)
        if len(known) * self.order**2 > TABLE:
            return super().scan(x, state, dt, lengths)
        pieces = [self.transition(piece).to(state[1].dtype) for piece in known.split(AT_ONCE)]
        table = torch.cat(pieces)  # (K, N, N)
        first = inside.to(torch.uint8).argmax(0)  # (T,) a row that is inside, if there is one
        shared = which.gather(0, first.unsqueeze(0)).squeeze(0)  # (T,)
        alike = ((which == shared) | ~inside).all(0).tolist()
        outputs = []
        for k, (projected, gap) in enumerate(zip(self.project(x, dt).unbind(1), dt.unbind(1), strict=True)):
            y, after = self.move(projected, state, gap, table[shared[k] if alike[k] else which[:, k]])
            if lengths is not None:
                here = inside[:, k].unsqueeze(-1)
                y = y.masked_fill(~here, 0.0)
                after = tuple(torch.where(here, new, old) for new, old in zip(after, state, strict=True))
            outputs.append(y)
            state = after
        return torch.stack(outputs, dim=1), state
