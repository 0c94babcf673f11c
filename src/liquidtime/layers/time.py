"""Convert the forms in which a caller may pass the time between samples into one."""

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
        lengths: (B,) number of samples of each series; intervals past the end are not checked.
        batch_first: order of the axes of a `dt` with two axes or more.

    """
    B, T = x.shape[0], x.shape[1]
    if dt is None:
        return x.new_ones(B, T)
    if isinstance(dt, PackedSequence):
        raise TypeError("`dt` is a PackedSequence, but the samples are not. Pack both or neither.")
    tensor = _as_tensor(dt, x)
    if tensor.dim() == 0:
        full = tensor.reshape(1, 1).expand(B, T)
    elif tensor.dim() == 1:
        if tensor.shape[0] != T:
            raise wrong_shape("dt", "(B, T)", [B, T], tensor.shape, _HINT)
        full = tensor.unsqueeze(0).expand(B, T)
    else:
        if tensor.dim() == 3 and tensor.shape[-1] == 1:
            tensor = tensor.squeeze(-1)
        axes, needed = ("(B, T)", [B, T]) if batch_first else ("(T, B)", [T, B])
        if list(tensor.shape) != needed:
            raise wrong_shape("dt", axes, needed, tensor.shape, _HINT)
        full = tensor if batch_first else tensor.transpose(0, 1)
    full = full.to(x.dtype)
    check_dt(full, lengths)
    return full


def interval(dt: Tensor | float | int | None, x: Tensor) -> Tensor:
    """Return dt as (B,) for one sample x (B, D): None (= 1), a number, or shape (), (B,) or (B, 1)."""
    B = x.shape[0]
    if dt is None:
        return x.new_ones(B)
    tensor = _as_tensor(dt, x)
    if tensor.dim() == 0:
        tensor = tensor.expand(B)
    elif tensor.dim() == 2 and tensor.shape[-1] == 1:
        tensor = tensor.squeeze(-1)
    if tensor.shape != (B,):
        raise wrong_shape("dt", "(B,)", [B], tensor.shape, _HINT)
    tensor = tensor.to(x.dtype)
    check_dt(tensor.unsqueeze(1))
    return tensor


def _as_tensor(dt: object, x: Tensor) -> Tensor:
    if isinstance(dt, Tensor):
        tensor = dt.to(x.device)
    elif not isinstance(dt, bool) and isinstance(dt, Real):
        tensor = torch.tensor(float(dt), dtype=torch.float64, device=x.device)
    else:
        raise TypeError(f"`dt` must be a tensor, a number or None; got {type(dt).__name__}. {_HINT}")
    if tensor.is_complex() or tensor.dtype is torch.bool:
        raise TypeError(f"`dt` must be real numbers; got {tensor.dtype}")
    return tensor


def reverse(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Return the samples of each row in reverse order, with padding left in place: x (B, T, ...)."""
    B, T = x.shape[0], x.shape[1]
    index = _mirrored(B, T, lengths, x.device, 0)
    return x.gather(1, index.reshape(B, T, *[1] * (x.dim() - 2)).expand_as(x))


def reverse_intervals(dt: Tensor, lengths: Tensor | None) -> Tensor:
    """Return the intervals (B, T) that belong to the samples in reverse order.

    The time between two samples is the same in both directions, so in reverse the interval before sample k is that
    before the sample that follows it. The interval before the first sample stays in first position:

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
