"""Learning-rate schedules: factors of the base rate at a position counted in epochs.

The position of a step is e = epoch + step / steps of that epoch, so a schedule has no state, epochs may have
different numbers of batches, and a resumed run has the same rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

Shape: TypeAlias = Callable[[float, int, float], float]
"""Maps (position e, epochs E, decay) to the factor of the base rate."""

RISE, START, END = 0.3, 1 / 25, 1 / 250_000
"""One cycle: the share of the run in which the rate rises, and the factors at the start and the end."""


def constant(position: float, epochs: int, decay: float) -> float:
    """Return 1."""
    return 1.0


def exponential(position: float, epochs: int, decay: float) -> float:
    """Return decay^e."""
    return float(decay**position)


def cosine(position: float, epochs: int, decay: float) -> float:
    """Return (1 + cos(π e / E)) / 2."""
    return 0.5 * (1.0 + math.cos(math.pi * min(position / epochs, 1.0)))


def one_cycle(position: float, epochs: int, decay: float) -> float:
    """Return the factor that rises from 1/25 to 1 over the first 30 % of the run and falls to 1/250,000, by cosines."""
    share = min(position / epochs, 1.0)
    if share < RISE:
        low, turn = START, share / RISE
    else:
        low, turn = END, (1.0 - share) / (1.0 - RISE)
    return low + (1.0 - low) * 0.5 * (1.0 - math.cos(math.pi * turn))


SCHEDULES: dict[str, Shape] = {
    "constant": constant,
    "exponential": exponential,
    "cosine": cosine,
    "one_cycle": one_cycle,
}
NEEDS_LENGTH = ("cosine", "one_cycle")
"""The schedules that depend on the number of epochs."""


def rate_factor(
    name: str,
    epoch: int,
    step: int,
    steps: int | None,
    *,
    epochs: int,
    decay: float,
    every: str,
) -> float:
    """Return the factor of the base rate for one optimiser step.

        factor = shape(e),   e = epoch + step / steps or epoch

    Args:
        name: one of `SCHEDULES`.
        epoch: number of the epoch, from 0.
        step: number of the step within the epoch, from 0.
        steps: number of steps in this epoch; None if unknown.
        epochs: number of epochs of the run.
        decay: factor per epoch, used by "exponential".
        every: "step" if the rate changes at each step, "epoch" if it is constant within an epoch.

    Raises:
        ValueError: the rate changes within an epoch whose number of batches is unknown.

    """
    held = name == "constant" or every == "epoch"
    if steps is None and not held:
        raise ValueError(
            f"`batches` must return something with a length, because the schedule {name!r} changes the "
            "rate within an epoch. Return a list, or choose schedule_every='epoch'."
        )
    position = float(epoch) if held or steps is None else epoch + min(step / steps, 1.0)
    return SCHEDULES[name](position, epochs, decay)
