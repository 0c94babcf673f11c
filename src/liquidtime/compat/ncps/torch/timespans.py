"""The forms in which programs for `ncps` pass time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from liquidtime._checks import values_are_known
from liquidtime.layers.time import interval, intervals


def sequence_intervals(timespans: Tensor | float | None, x: Tensor, batch_first: bool) -> Tensor:
    """Return the time since the previous sample as (B, T), separately for each row.

    Args:
        timespans: None (= 1), a number, (T,), (B, T) or (B, T, 1); with `batch_first=False` (T, B) or (T, B, 1).
            A batch of 1 applies to all rows. Times repeated for every unit, (B, T, H), are read as (B, T, 1).
        x: (B, T, D) the samples, batch first already.
        batch_first: order of the axes of `timespans` with two axes or more.

    """
    if isinstance(timespans, Tensor) and timespans.dim() >= 2:
        timespans = _one_per_sample("timespans", timespans) if timespans.dim() == 3 else timespans.unsqueeze(-1)
        sizes = list(timespans.shape)
        batch = 0 if batch_first else 1
        if sizes[batch] == 1:
            sizes[batch] = x.shape[0]
        timespans = timespans.expand(sizes)
    with _named("timespans"):
        return intervals(timespans, x, batch_first=batch_first)


def step_interval(argument: str, timespans: Tensor | float | None, x: Tensor) -> Tensor:
    """Return the time since the previous sample as (B,) for one sample x (B, D).

    Args:
        argument: name of the argument for the caller.
        timespans: None (= 1), a number, (), (1,), (B,), (B, 1), or (B, H) with equal columns.
        x: (B, D) the sample.

    """
    if isinstance(timespans, Tensor):
        if timespans.dim() == 2:
            timespans = _one_per_sample(argument, timespans)
        if timespans.numel() == 1:
            timespans = timespans.reshape(())
    with _named(argument):
        return interval(timespans, x)


def _one_per_sample(argument: str, timespans: Tensor) -> Tensor:
    first = timespans[..., :1]
    if (
        timespans.shape[-1] > 1
        and values_are_known(timespans)
        and not torch.equal(timespans, first.expand_as(timespans))
    ):
        raise ValueError(
            f"`{argument}` must be one time for each sample; got {tuple(timespans.shape)} with times that differ "
            "along the last axis. Pass (B, T) or (B, T, 1)."
        )
    return first


@contextmanager
def _named(argument: str) -> Iterator[None]:
    """Use the caller's name of the argument in error messages."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("`dt`", f"`{argument}`")) from None
