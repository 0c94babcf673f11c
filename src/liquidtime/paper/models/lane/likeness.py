"""The similarity of attention maps."""

from __future__ import annotations

import torch
from torch import Tensor


def likeness(a: Tensor, b: Tensor) -> Tensor:
    """Return the correlations (N,) of the pixels of maps a and b (N, h, w); 0 where one of them is constant."""
    x, y = a.flatten(1), b.flatten(1)
    x, y = x - x.mean(dim=1, keepdim=True), y - y.mean(dim=1, keepdim=True)
    size = (x.square().sum(dim=1) * y.square().sum(dim=1)).sqrt()
    return (x * y).sum(dim=1) / size.clamp(min=torch.finfo(x.dtype).tiny)
