"""The variation of a steering command."""

from __future__ import annotations

from torch import Tensor


def variation(y: Tensor, dt: Tensor) -> float:
    """Return the mean change per second, Σ |y_k - y_(k-1)| / Σ dt_k over k = 1…T-1.

    Args:
        y: (T,) command at each image.
        dt: (T,) seconds since the previous image.

    """
    if len(y) < 2 or float(dt[1:].sum()) == 0:
        raise ValueError(f"`y` must have at least 2 commands at different times; got {len(y)}")
    return float(y.diff().abs().sum() / dt[1:].sum())
