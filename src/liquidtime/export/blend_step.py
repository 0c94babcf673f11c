"""The mixture of forecasts and its intervals, as elementwise torch operations that compute the same as `Blend`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime.estimators.forecast.blend import LEVELS, Blend
from liquidtime.export.operations import log1p


class Hats(nn.Module):
    """The weights of knots at a number, which decrease and increase linearly between knots and sum to 1.

    Args:
        knots: (K,) increasing, at least two.
    """

    low: Tensor
    width: Tensor

    def __init__(self, knots: Tensor) -> None:
        super().__init__()
        self.register_buffer("low", knots[:-1].clone())
        self.register_buffer("width", knots[1:] - knots[:-1])

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., K) the weights at x (..., 1)."""
        ramps = ((x - self.low) / self.width).clamp(0.0, 1.0)
        one = torch.ones_like(ramps[..., :1])
        return torch.cat([one, ramps], dim=-1) - torch.cat([ramps, one - 1.0], dim=-1)


class BlendStep(nn.Module):
    """A fitted `Blend` of J parts of C channels.

    Args:
        blend: the mixture.
    """

    weights: Tensor
    sizes: Tensor
    errors: Tensor

    def __init__(self, blend: Blend) -> None:
        super().__init__()
        self.near = Hats(log1p(torch.from_numpy(blend.knots)))
        self.level = Hats(torch.tensor(LEVELS, dtype=torch.float64))
        self.register_buffer("weights", torch.from_numpy(blend.weights.copy()))
        self.register_buffer("sizes", torch.from_numpy(blend.sizes.copy()))
        self.register_buffer("errors", torch.from_numpy(blend.errors.copy()))

    def forward(self, parts: Tensor, since: Tensor, coverage: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return (B, C) the mixture, and the lower and upper ends of its intervals, in standard deviations.

        Args:
            parts: (B, C, J) float64.
            since: (B, C) scaled time since each channel's last value.
            coverage: (B,) fraction of values that the intervals should contain.
        """
        near = self.near(log1p(since).unsqueeze(-1))  # (B, C, K)
        shares = (near.unsqueeze(-1) * self.weights).sum(dim=-2)  # (B, C, J)
        mixed = (parts * shares).sum(dim=-1)
        J = parts.shape[-1]
        apart = parts - parts.sum(dim=-1, keepdim=True) / J
        spread = torch.sqrt((apart * apart).sum(dim=-1) / J)
        signs = torch.stack([spread, mixed.clamp(min=0.0), (-mixed).clamp(min=0.0)], dim=-1)
        size = (torch.cat([near, signs], dim=-1) * self.sizes).sum(dim=-1)
        ends = []
        for level in ((1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0):
            at = self.level(level.reshape(-1, 1, 1, 1))  # (B, 1, 1, L)
            quantile = ((at * self.errors).sum(dim=-1) * near).sum(dim=-1)
            ends.append(mixed + quantile * size)
        return mixed, ends[0], ends[1]
