from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_choice, check_size
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.polynomial_memory import PolynomialMemoryCell


class HiPPOCell(PolynomialMemoryCell):
    """A gated network with a HiPPO memory, by Gu, Dao, Ermon, Rudra and Ré (2020).

        g = σ(G [x; h; c]);   h' = (1 - g)·h + g·tanh(W [x; h; c]);   f = w·h' + b;   c' = memory(c, f, dt)

    Each map has a bias. The state is (h, c, ...). With `memory_first`, as in the code of the authors,

        f = w·[x; h] + b;   c' = memory(c, f, dt);   g = σ(G [x; c']);   h' = (1 - g)·h + g·tanh(W [x; c'])

    The step of the memory, dc/ds = A c + B f with f held, is exact, or bilinear as in that code:
    c' = (1 - δA/2)⁻¹·((1 + δA/2) c + δ B f).

    Args:
        input_size: D.
        hidden_size: H.
        order: N, the number of coefficients; None for H, as in the paper.
        discretisation: "exact" or "bilinear".
        memory_first: whether the memory is updated before the hidden state.

    """

    discretisations: ClassVar[tuple[str, ...]] = ("exact", "bilinear")

    def __init__(
        self, input_size: int, hidden_size: int, order: int | None, discretisation: str, memory_first: bool
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.order = H if order is None else check_size("order", order)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, self.order)
        self.input_map = nn.Linear(D, 2 * H)
        check_choice("discretisation", discretisation, self.discretisations)
        self.discretisation, self.memory_first = discretisation, bool(memory_first)
        self.recurrent_map = nn.Linear(self.order if memory_first else H + self.order, 2 * H, bias=False)
        self.signal = nn.Linear(D + H if memory_first else H, 1)
        for part in self.input_map.weight, self.recurrent_map.weight, self.signal.weight:
            nn.init.xavier_uniform_(part)
        nn.init.zeros_(self.input_map.bias)
        nn.init.zeros_(self.signal.bias)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of gate, candidate and (`memory_first`) f that depends on the input, (..., 2H or 2H + 1)."""
        projected: Tensor = self.input_map(x)
        if not self.memory_first:
            return projected
        return torch.cat([projected, x @ self.signal.weight[:, : self.input_size].mT], dim=-1)

    @abstractmethod
    def matrix(self) -> Tensor:
        """Return A (N, N) of the equation of the memory, dc/ds = A c + B f, in double precision."""

    def bilinear(self, step: Tensor) -> Tensor:
        """Return the matrix of the bilinear step (..., N, N) for steps δ (...)."""
        half = 0.5 * step.double()[..., None, None] * self.matrix().to(step.device)
        identity = torch.eye(self.order, dtype=half.dtype, device=half.device)
        E: Tensor = torch.linalg.solve(identity - half, identity + half)
        return E

    def move(self, projected: Tensor, state: State, dt: Tensor, E: Tensor) -> tuple[Tensor, State]:
        """Take one step with the matrix E of the memory: projected (B, 2H), state (h (B, H), c (B, N), ...)."""
        h, c = state[:2]
        if self.memory_first:
            w = self.signal.weight[:, self.input_size :]
            projected, f = torch.split(projected, [2 * h.shape[1], 1], dim=-1)
            c = self.remember(c, (f + h @ w.mT + self.signal.bias).to(h.dtype), E)
            gate, candidate = (projected + self.recurrent_map(c)).to(h.dtype).chunk(2, dim=-1)
            h = torch.lerp(h, torch.tanh(candidate), torch.sigmoid(gate))
            return h, (h, c)
        both = (projected + self.recurrent_map(torch.cat([h, c], dim=-1))).to(h.dtype)
        gate, candidate = both.chunk(2, dim=-1)
        h = torch.lerp(h, torch.tanh(candidate), torch.sigmoid(gate))
        f = self.signal(h).to(h.dtype)
        return h, (h, self.remember(c, f, E))

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"order={self.order}, discretisation={self.discretisation}, memory_first={self.memory_first}"
