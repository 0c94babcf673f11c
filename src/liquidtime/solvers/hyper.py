"""Hypersolvers: a fixed-step method whose leading error is removed by a small trained network."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size
from liquidtime._types import Drive
from liquidtime.solvers.flow import Flow
from liquidtime.solvers.rk4 import RK4
from liquidtime.solvers.solver import Solver

FINE = 16
"""RK4 steps per step of the base, for the training targets."""


class HyperSolver(Solver):
    """A method of order p with a learned correction of its local error.

        x' = base(x, h) + h^(p+1)·g(x, dx/dt)

    where g is trained on the residuals of the base (Poli et al., *Hypersolvers: toward fast continuous-depth models*,
    2020): the local error falls from O(h^(p+1)) to O(δ·h^(p+1)), where δ is the relative error of g. The order remains
    p.

    Args:
        base: the method, such as `Euler()` or `Heun()`.
        correction: g, a module from (B, 2H), the state and its slope, to (B, H); `learned_correction` trains one.

    """

    name: ClassVar[str] = "hyper"

    def __init__(self, base: Solver, correction: nn.Module) -> None:
        self.base, self.correction = base, correction

    @property
    def order(self) -> int:  # type: ignore[override]
        """The order of the base."""
        return self.base.order

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step of h (B, 1)."""
        rate, push = drive(x)
        seen = torch.cat([x, push - rate * x], dim=-1)
        correction: Tensor = self.correction(seen)
        return self.base.step(drive, x, h) + h ** (self.base.order + 1) * correction

    def __repr__(self) -> str:
        return f"HyperSolver({self.base!r})"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def learned_correction(
    slope: Callable[[Tensor], Tensor],
    base: Solver,
    states: Tensor,
    step: float,
    *,
    units: int = 64,
    iterations: int = 1000,
    seed: int = 0,
) -> tuple[HyperSolver, float]:
    """Train the correction of a method on one equation dx/dt = slope(x).

    Args:
        slope: maps (B, H) to (B, H).
        base: the method to correct.
        states: (N, H) states at which the equation will be solved; all of them are used for training.
        step: h, the step size for which the correction is trained.
        units: width of the hidden layer of the correction.
        iterations: number of iterations of Adam, each on all states.
        seed: random seed of the initial weights.

    Returns:
        The hypersolver, and δ, the error of its correction relative to the residuals on these states.

    """
    h = torch.full((len(states), 1), check_positive("step", step), dtype=states.dtype)
    H, units = states.shape[1], check_size("units", units)
    flow = Flow(slope, tuple)
    with torch.no_grad():
        residual = RK4().integrate(flow, states, h, FINE) - base.step(flow, states, h)
        residual = residual / h ** (base.order + 1)
        seen = torch.cat([states, slope(states)], dim=-1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        correction = nn.Sequential(nn.Linear(2 * H, units), nn.Tanh(), nn.Linear(units, H)).to(states.dtype)
    optimizer = torch.optim.Adam(correction.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, check_size("iterations", iterations))
    with torch.enable_grad():
        for _ in range(iterations):
            optimizer.zero_grad()
            (correction(seen) - residual).square().mean().backward()
            optimizer.step()
            schedule.step()
    correction.requires_grad_(False)
    with torch.no_grad():
        error = float((correction(seen) - residual).norm() / residual.norm())
    return HyperSolver(base, correction), error
