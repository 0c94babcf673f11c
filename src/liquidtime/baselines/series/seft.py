from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime.baselines.series.model import WholeSeriesModel, perceptron
from liquidtime.baselines.series.parts.batch import Observations, SeriesBatch, group_softmax
from liquidtime.baselines.series.parts.time_encoding import TimeEncoding


class SeFT(WholeSeriesModel):
    """Set functions for time series: a series is the set of its observations s_j = (time, value, channel).

        s_j = [ sin, cos of t_j ; x_j ; channel_j ],   f'(S) = g'( mean_j h'(s_j) )
        e_ij = Q_i · (W_i [ f'(S) ; s_j ]) / √d,   a_i = softmax_j e_ij                       heads i
        y = g( [ Σ_j a_ij·h(s_j) ]_i )

    The cost is proportional to the number of observations, and their order has no effect. Queries start at 0, so that
    the untrained network computes means.

    Args:
        input_size: D, 2C with a mask.
        hidden_size: H, the width of h, h', g' and of the output.
        heads: number of attention heads.
        key_size: d.
        time_size: size of the encoding of time, even.
        shortest: period / 2π of the fastest wave of the encoding, in the unit of dt.
        longest: the same for the slowest wave.
        mask: whether x is [values ; mask].

    Reference: Horn, Moor, Bock, Rieck & Borgwardt, Set Functions for Time Series, ICML 2020.

    """

    takes_mask: ClassVar[bool] = True

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        heads: int = 4,
        key_size: int = 32,
        time_size: int = 16,
        shortest: float = 1.0,
        longest: float = 100.0,
        mask: bool = True,
    ) -> None:
        H = check_size("hidden_size", hidden_size)
        super().__init__(input_size, H, mask=mask)
        self.heads, self.key_size = check_size("heads", heads), check_size("key_size", key_size)
        self.encoding = TimeEncoding(time_size, shortest, longest)
        width = time_size + 1 + self.channels
        self.context_elements, self.context = perceptron([width, H, H]), perceptron([H, H])
        self.elements = perceptron([width, H, H])
        self.keys = nn.Linear(H + width, self.heads * self.key_size, bias=False)
        self.queries = nn.Parameter(torch.zeros(self.heads, self.key_size))
        self.read = perceptron([self.heads * H, H, H])

    def of_set(self, observations: Observations, B: int) -> Tensor:
        """Return (B, H): the function of each of B sets, which does not depend on the order of the observations."""
        s = torch.cat(
            [
                self.encoding(observations.time),
                observations.value.unsqueeze(-1),
                nn.functional.one_hot(observations.channel, self.channels).to(observations.value.dtype),
            ],
            dim=-1,
        )  # (N, S)
        context = self.context(_means(self.context_elements(s), observations.series, B))  # (B, H)
        weights = self.attention(s, context, observations.series)  # (N, heads)
        h = self.elements(s)  # (N, H)
        parts = (weights.unsqueeze(-1) * h.unsqueeze(1)).flatten(1)  # (N, heads·H)
        y: Tensor = self.read(parts.new_zeros(B, parts.shape[1]).index_add(0, observations.series, parts))
        return y

    def attention(self, s: Tensor, context: Tensor, series: Tensor) -> Tensor:
        """Return (N, heads): weights of the elements s (N, S), which sum to 1 over the set of each series (N,)."""
        inputs, H = self.keys.weight, context.shape[-1]
        keys = nn.functional.linear(s, inputs[:, H:]) + nn.functional.linear(context, inputs[:, :H])[series]
        scores = (keys.reshape(-1, self.heads, self.key_size) * self.queries).sum(-1) / math.sqrt(self.key_size)
        return group_softmax(scores, series, len(context))[0]

    def summarise(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return (B, H): the set function of each series."""
        return self.of_set(batch.observations(), len(batch.dt)), None


def _means(h: Tensor, series: Tensor, B: int) -> Tensor:
    """Return (B, H): the mean of h (N, H) over each series, 0 if it is empty."""
    count = torch.bincount(series, minlength=B).clamp(min=1).to(h.dtype)
    return h.new_zeros(B, h.shape[1]).index_add(0, series, h) / count.unsqueeze(-1)
