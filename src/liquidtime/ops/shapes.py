"""Checks of shapes, types and devices of the arguments of an operator, before any kernel runs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from liquidtime.errors import wrong_shape


def check_part(name: str, part: Tensor, shape: Sequence[int], like: Tensor) -> None:
    """Refuse a tensor of the wrong shape, or with a type or device other than that of `like`.

    Raises:
        ValueError: wrong shape.
        TypeError: wrong type or device.

    """
    if part.shape != shape:
        raise wrong_shape(name, "the shape that fits the others", list(shape), part.shape)
    if part.dtype is not like.dtype or part.device != like.device:
        raise TypeError(f"`{name}` must be {like.dtype} on {like.device}, as `x` is; got {part.dtype} on {part.device}")


def check_parts(name: str, parts: Sequence[Tensor], shapes: Sequence[Sequence[int]], like: Tensor) -> None:
    """Refuse a wrong number of tensors, or tensors that `check_part` refuses; `shapes` has one shape for each."""
    if len(parts) != len(shapes):
        raise ValueError(f"`{name}` must be {len(shapes)} tensors; got {len(parts)}")
    dtype, device = like.dtype, like.device
    for index, (part, shape) in enumerate(zip(parts, shapes, strict=True)):
        if part.shape != shape or part.dtype is not dtype or part.device != device:
            check_part(f"{name}[{index}]", part, shape, like)


def check_samples(x: Tensor, dt: Tensor, lengths: Tensor | None) -> tuple[int, int, int]:
    """Return B, T and D of samples x (B, T, D), intervals dt (B, T) and lengths (B,), or refuse them.

    Raises:
        ValueError: a shape does not fit.
        TypeError: a type does not fit.

    """
    if x.dim() != 3 or x.shape[2] < 1:
        raise ValueError(f"`x` must have shape (B, T, D) with D at least 1; got {tuple(x.shape)}")
    B, T, D = x.shape
    check_part("dt", dt, (B, T), x)
    if lengths is not None:
        if lengths.dtype is not torch.int64 or lengths.device != x.device:
            raise TypeError(f"`lengths` must be int64 on {x.device}; got {lengths.dtype} on {lengths.device}")
        if lengths.shape != (B,):
            raise wrong_shape("lengths", "(B,)", [B], lengths.shape)
    return B, T, D
