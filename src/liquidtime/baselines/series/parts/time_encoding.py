from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size


class TimeEncoding(nn.Module):
    """Times as waves: sines and cosines with periods / 2π in a geometric sequence from `shortest` to `longest`.

        φ(t) = [ sin(t / p_k) ]_k, [ cos(t / p_k) ]_k,   p_k = shortest·(longest / shortest)^(k / (K - 1))

    Args:
        size: 2K, even.
        shortest: p_0 > 0, in the unit of the times.
        longest: p_{K-1} >= p_0.

    """

    rates: Tensor

    def __init__(self, size: int, shortest: float, longest: float) -> None:
        super().__init__()
        if check_size("time_size", size, least=2) % 2:
            raise ValueError(f"`time_size` must be even, for pairs of a sine and a cosine; got {size}")
        if not 0 < shortest <= longest < math.inf:
            raise ValueError(f"`shortest` must be greater than 0 and at most `longest`; got {shortest} and {longest}")
        exponents = torch.linspace(0.0, 1.0, size // 2, dtype=torch.float64)
        periods = shortest * (longest / shortest) ** exponents
        self.register_buffer("rates", (1 / periods).float(), persistent=False)

    def forward(self, times: Tensor) -> Tensor:
        """Return (..., 2K) of times (...)."""
        angles = times.unsqueeze(-1) * self.rates.to(times.dtype)
        return torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)
