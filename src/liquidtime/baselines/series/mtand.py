from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size, named_arguments
from liquidtime.baselines.series.model import WholeSeriesModel, perceptron, reference_times
from liquidtime.baselines.series.parts.batch import FAR, SeriesBatch
from liquidtime.errors import wrong_shape
from liquidtime.layers.time import Interval


class TimeAttention(nn.Module):
    """Multi-time attention: the value of each channel at requested times, by attention over its observation times.

        φ(t) = [ ω_0·t + α_0 ; sin(ω_i·t + α_i) ]
        κ_h(t, t_j) = softmax_j( φ(t) W_h · φ(t_j) V_h / √d ) over the times at which channel d was observed
        x̂_hd(t) = Σ_j κ_h(t, t_j)·x_jd

    The scores do not depend on the channel, so numerators and denominators of all channels are two products. Scores
    more than `FAR` below the largest are raised to that value, so that the weights of a channel never all vanish.

    Args:
        embedding_size: size of φ.
        heads: number of heads h.

    """

    def __init__(self, embedding_size: int, heads: int) -> None:
        super().__init__()
        E = check_size("embedding_size", embedding_size)
        self.heads, self.key_size = check_size("heads", heads), max(1, E // check_size("heads", heads))
        self.rates, self.phases = nn.Parameter(torch.empty(E)), nn.Parameter(torch.empty(E))
        nn.init.uniform_(self.rates, -1.0, 1.0)
        nn.init.uniform_(self.phases, -1.0, 1.0)
        self.query = nn.Linear(E, self.heads * self.key_size)
        self.key = nn.Linear(E, self.heads * self.key_size)

    def embed(self, times: Tensor) -> Tensor:
        """Return φ (..., E) of times (...)."""
        angles = times.unsqueeze(-1) * self.rates + self.phases
        return torch.cat([angles[..., :1], torch.sin(angles[..., 1:])], dim=-1)

    def weights(self, at: Tensor, times: Tensor, inside: Tensor) -> Tensor:
        """Return (B, heads, Q, T): exponentials of the scores, with a maximum of 1 in each row and 0 in the padding."""
        B, Q = at.shape
        query = self.query(self.embed(at)).reshape(B, Q, self.heads, -1).transpose(1, 2)
        key = self.key(self.embed(times)).reshape(B, times.shape[1], self.heads, -1).transpose(1, 2)
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.key_size)
        outside = ~inside[:, None, None]
        largest = scores.detach().masked_fill(outside, -torch.inf).amax(dim=-1, keepdim=True)
        largest = largest.masked_fill(largest == -torch.inf, 0.0)
        return torch.exp((scores - largest).clamp(-FAR, 0.0)).masked_fill(outside, 0.0)

    def among(self, at: Tensor, times: Tensor, states: Tensor) -> Tensor:
        """Return (B, Q, heads·S) at times (B, Q) from states (B, R, S), all of them known at times (B, R)."""
        parts = self.weights(at, times, torch.ones_like(times, dtype=torch.bool))
        means = (parts / parts.sum(dim=-1, keepdim=True)) @ states.unsqueeze(1)  # (B, heads, Q, S)
        return means.transpose(1, 2).flatten(2)

    def forward(self, at: Tensor, times: Tensor, batch: SeriesBatch) -> Tensor:
        """Return (B, heads, Q, C) at times (B, Q), 0 for a channel that was never observed.

        Args:
            at: (B, Q) requested times, scaled.
            times: (B, T) times of the samples, scaled.
            batch: the samples.

        """
        parts = self.weights(at, times, batch.inside)
        observed = batch.observed.to(parts.dtype).unsqueeze(1)  # (B, 1, T, C)
        total = parts @ observed
        never = ~batch.observed.any(dim=1)[:, None, None]  # (B, 1, 1, C)
        return (parts @ batch.values.unsqueeze(1)) / total.masked_fill(never, 1.0)


class MTAND(WholeSeriesModel):
    """The encoder of multi-time attention networks: attention to reference times, followed by a GRU.

        z_r = U [ x̂_hd(r) ; channel d ever observed ],   y = last state of GRU(z_1 … z_R)

    Args:
        input_size: D, 2C with a mask.
        hidden_size: H, the width of z and of the GRU.
        reference_points: R, the number of reference times over the span of the series.
        embedding_size: size of the embedding of time.
        heads: number of attention heads.
        horizon: the span, in the unit of dt, which the embedding maps to 0…1; None for that of each series.
        head_units: if greater than 0, two layers of this many units with relu between the GRU and the output.
        mask: whether x is [values ; mask].

    Reference: Shukla & Marlin, Multi-Time Attention Networks for Irregularly Sampled Time Series, ICLR 2021.

    """

    takes_mask: ClassVar[bool] = True

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        reference_points: int = 64,
        embedding_size: int = 128,
        heads: int = 1,
        horizon: float | None = None,
        head_units: int = 0,
        mask: bool = True,
    ) -> None:
        H, units = check_size("hidden_size", hidden_size), check_size("head_units", head_units, least=0)
        super().__init__(input_size, units or H, mask=mask)
        self.reference_points = check_size("reference_points", reference_points)
        self.horizon = None if horizon is None else check_positive("horizon", horizon)
        self.attention = TimeAttention(embedding_size, heads)
        self.mix = nn.Linear((heads + 1) * self.channels, H)
        self.network = nn.GRU(H, H, batch_first=True)
        self.head = perceptron([H, units, units] if units else [H])

    def interpolants(self, batch: SeriesBatch, at: Tensor) -> Tensor:
        """Return (B, heads, Q, C): x̂ at times (B, Q) on the clocks of the series."""
        span = batch.span(self.horizon)
        interpolants: Tensor = self.attention(at / span, batch.times / span, batch)
        return interpolants

    def interpolate(self, x: Tensor, dt: Interval, lengths: Tensor | Sequence[int] | None, times: Tensor) -> Tensor:
        """Return (B, Q, C): the mean of the heads at times (B, Q) on the series' clocks; arguments as in `forward`."""
        batch = self.batch(x, dt, lengths)
        if times.dim() != 2 or len(times) != len(x):
            raise wrong_shape("times", "(B, Q)", [len(x), "Q"], times.shape, "Times on the clock of each series.")
        return self.interpolants(batch, times.to(x.dtype)).mean(dim=1)

    def summarise(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return (B, output_size) from the last state of the GRU."""
        at = reference_times(self.reference_points, batch.span(self.horizon))
        z = self.mix(with_ever_observed(self.interpolants(batch, at), batch))
        states, _ = self.network(z)
        summary: Tensor = self.head(states[:, -1])
        return summary, None


def with_ever_observed(interpolants: Tensor, batch: SeriesBatch) -> Tensor:
    """Return (B, Q, (heads + 1)·C): x̂ (B, heads, Q, C) of all heads, and whether each channel was ever observed."""
    B, _, Q, C = interpolants.shape
    ever = batch.observed.any(dim=1).to(interpolants.dtype).unsqueeze(1).expand(B, Q, C)
    return torch.cat([interpolants.transpose(1, 2).flatten(2), ever], dim=-1)
