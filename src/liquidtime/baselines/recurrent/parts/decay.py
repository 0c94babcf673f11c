"""Exponential decay at learned rates, and its use for values that were not observed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from liquidtime.errors import wrong_shape


class Decay(nn.Module):
    """A factor in (0, 1] for each channel that decreases with time.

        γ = exp(-max(0, w·δ + b))

    Args:
        size: number of channels.

    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size).uniform_())
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, since: Tensor) -> Tensor:
        """Return the factors (B, size) after the times `since` (B, size) or (B, 1)."""
        return torch.exp(-torch.relu(self.weight * since + self.bias))


class InputDecay(nn.Module):
    """Replaces a value that was not observed by one between the last observation and the mean.

        x̂ = m·x + (1 - m)·(mean + γ(δ)·(last - mean)),   with δ the time since the channel was last observed

    The first K of D columns are values; each has a column that is 1 if it was observed and 0 if not. The state consists
    of last - mean and δ, each (B, K), initially 0.

    Args:
        input_size: D.
        masks: (K,) the column with the mask of each value, which must not be among the values.
        mean: (K,) value towards which values decay; None for 0. The buffer `mean` can be set later.

    """

    masks: Tensor
    mean: Tensor

    def __init__(self, input_size: int, masks: Sequence[int], mean: Tensor | Sequence[float] | None = None) -> None:
        super().__init__()
        columns = [int(column) for column in masks]
        K = len(columns)
        if K == 0:
            raise ValueError("`masks` must contain the mask column of at least one value; got none")
        if not all(K <= column < input_size for column in columns):
            raise ValueError(
                f"`masks` must be columns after the {K} values and before input_size = {input_size}; got {columns}"
            )
        means = torch.zeros(K) if mean is None else torch.as_tensor(mean, dtype=torch.get_default_dtype()).clone()
        if means.shape != (K,):
            raise wrong_shape("mean", "(K,)", [K], means.shape, "One mean for each value that has a mask.")
        self.size = K
        self.decay = Decay(K)
        self.register_buffer("masks", torch.tensor(columns), persistent=False)
        self.register_buffer("mean", means)

    def forward(self, x: Tensor, last: Tensor, since: Tensor, dt: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Process one sample.

        Args:
            x: (B, D) values, masks and other columns.
            last: (B, K) the last observation minus the mean.
            since: (B, K) time from it to the previous sample.
            dt: (B,) time since the previous sample.

        Returns:
            x̂, δ, and the new values of `last` and `since`, each (B, K).

        """
        m = x.index_select(-1, self.masks)
        delta = since + dt.unsqueeze(-1)
        seen = m * (x[..., : self.size] - self.mean)
        filled = seen + (1 - m) * self.decay(delta) * last
        return filled + self.mean, delta, seen + (1 - m) * last, (1 - m) * delta
