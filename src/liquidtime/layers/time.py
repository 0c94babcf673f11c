"""The forms in which a caller may give the time between samples, brought to one."""

from __future__ import annotations

from numbers import Real
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from liquidtime._checks import check_dt
from liquidtime.errors import wrong_shape

Interval: TypeAlias = Tensor | PackedSequence | float | int | None

_HINT = "For absolute times pass lt.elapsed(times)."


def intervals(dt: Interval, x: Tensor, lengths: Tensor | None = None, *, batch_first: bool = True) -> Tensor:
    """Return dt as (B, T), checked, in the type and on the device of x.

    Args:
        dt: None (= 1), a number, or a tensor of shape (), (T,), (B, T) or (B, T, 1); with `batch_first=False`
            (T, B) or (T, B, 1).
        x: (B, T, D) the samples, batch first already.
        lengths: (B,) samples of each series; the intervals behind are not checked.
        batch_first: how a `dt` with two axes or more is laid out.

    """
    B, T = x.shape[0], x.shape[1]
    if dt is None:
        return x.new_ones(B, T)
    if isinstance(dt, PackedSequence):
        raise TypeError("`dt` is a PackedSequence, but the samples are not. Pack both or neither.")
    given = _as_tensor(dt, x)
    if given.dim() == 0:
        full = given.reshape(1, 1).expand(B, T)
    elif given.dim() == 1:
        if given.shape[0] != T:
            raise wrong_shape("dt", "(B, T)", [B, T], given.shape, _HINT)
        full = given.unsqueeze(0).expand(B, T)
    else:
        if given.dim() == 3 and given.shape[-1] == 1:
            given = given.squeeze(-1)
        axes, needed = ("(B, T)", [B, T]) if batch_first else ("(T, B)", [T, B])
        if list(given.shape) != needed:
            raise wrong_shape("dt", axes, needed, given.shape, _HINT)
        full = given if batch_first else given.transpose(0, 1)
    full = full.to(x.dtype)
    check_dt(full, lengths)
    return full


def interval(dt: Tensor | float | int | None, x: Tensor) -> Tensor:
    """Return dt as (B,) for one sample x (B, D): None (= 1), a number, or shape (), (B,) or (B, 1)."""
    B = x.shape[0]
    if dt is None:
        return x.new_ones(B)
    given = _as_tensor(dt, x)
    if given.dim() == 0:
        given = given.expand(B)
    elif given.dim() == 2 and given.shape[-1] == 1:
        given = given.squeeze(-1)
    if given.shape != (B,):
        raise wrong_shape("dt", "(B,)", [B], given.shape, _HINT)
    given = given.to(x.dtype)
    check_dt(given.unsqueeze(1))
    return given


def _as_tensor(dt: object, x: Tensor) -> Tensor:
    if isinstance(dt, Tensor):
        given = dt.to(x.device)
    elif not isinstance(dt, bool) and isinstance(dt, Real):
        given = torch.tensor(float(dt), dtype=torch.float64, device=x.device)
    else:
        raise TypeError(f"`dt` must be a tensor, a number or None; got {type(dt).__name__}. {_HINT}")
    if given.is_complex() or given.dtype is torch.bool:
        raise TypeError(f"`dt` must be real numbers; got {given.dtype}")
    return given


def reverse(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Return the samples of each row in reverse order, padding left where it is: x (B, T, ...)."""
    B, T = x.shape[0], x.shape[1]
    index = _mirrored(B, T, lengths, x.device, 0)
    return x.gather(1, index.reshape(B, T, *[1] * (x.dim() - 2)).expand_as(x))


def reverse_intervals(dt: Tensor, lengths: Tensor | None) -> Tensor:
    """Return the intervals (B, T) that belong to the samples in reverse order.

    Between two samples lies the same time in both directions, so the interval before sample k belongs to the
    sample before it when time is walked backwards. What stood before the first sample stands before the first again:

        reversed[0] = dt[0],   reversed[k] = dt[L - k]
    """
    B, T = dt.shape
    return dt.gather(1, _mirrored(B, T, lengths, dt.device, 1))


def _mirrored(B: int, T: int, lengths: Tensor | None, device: torch.device, fixed: int) -> Tensor:
    """Return (B, T) positions, mirrored within fixed…L-1 and equal elsewhere."""
    k = torch.arange(T, device=device).expand(B, T)
    L = torch.full((B, 1), T, device=device) if lengths is None else lengths.unsqueeze(1)
    inside = (k >= fixed) & (k < L)
    return torch.where(inside, L - 1 + fixed - k, k)
