"""The outputs of a layer, pooled over the steps of a series: their sum, their largest, their number."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Pool(NamedTuple):
    """Outputs y_1 … y_k (B, H), pooled over k; made of whole series, of every prefix, or one step at a time.

    Args:
        total: (..., H) their sum.
        largest: (..., H) the largest of each; -inf of none.
        steps: (..., 1) k.
    """

    total: Tensor
    largest: Tensor
    steps: Tensor

    @staticmethod
    def empty(B: int, H: int, like: Tensor) -> Pool:
        """Return the pool of no outputs, on the device and in the type of a tensor."""
        return Pool(like.new_zeros(B, H), like.new_full((B, H), -torch.inf), like.new_zeros(B, 1))

    @staticmethod
    def of_series(y: Tensor, lengths: Tensor) -> Pool:
        """Return (B, ...) the pool of whole series y (B, T, H), which are 0 past their `lengths` (B,)."""
        inside = (torch.arange(y.shape[1], device=y.device) < lengths.unsqueeze(1)).unsqueeze(-1)  # (B, T, 1)
        largest = y.masked_fill(~inside, -torch.inf).amax(dim=1)  # before the sum: gradients add up in this order
        return Pool(y.sum(dim=1), largest, lengths.unsqueeze(-1).to(y.dtype))

    @staticmethod
    def of_prefixes(y: Tensor) -> Pool:
        """Return (B, T, ...) the pool of the outputs up to each step of y (B, T, H)."""
        count = torch.arange(1, y.shape[1] + 1, device=y.device).unsqueeze(-1)  # (T, 1)
        return Pool(y.cumsum(dim=1), y.cummax(dim=1).values, count)

    def add(self, y: Tensor) -> Pool:
        """Return the pool with one step y (B, H) more."""
        return Pool(self.total + y, torch.maximum(self.largest, y), self.steps + 1)

    @property
    def mean(self) -> Tensor:
        """(..., H), 0 of none."""
        return self.total / self.steps.clamp(min=1)
