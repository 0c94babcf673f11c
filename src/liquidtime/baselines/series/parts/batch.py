"""A batch of series in the form that these models read: padding cleared, times summed up, observations listed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Observations(NamedTuple):
    """All N observed values, one after another.

    Args:
        series: (N,) position of the series in the batch.
        channel: (N,) position of the channel.
        time: (N,) time on the clock of the series.
        value: (N,) value.
    """

    series: Tensor
    channel: Tensor
    time: Tensor
    value: Tensor


@dataclass(frozen=True)
class SeriesBatch:
    """B series of up to T samples.

    Attributes:
        x: (B, T, D) samples, 0 in the padding.
        dt: (B, T) time since the previous sample, 0 in the padding.
        times: (B, T) sum of the intervals so far; the clock of a series starts with its first interval.
        inside: (B, T) True where there is a sample.
        lengths: (B,) number of samples of each series.
        values: (B, T, C) 0 where not observed.
        observed: (B, T, C) True where a channel was observed.

    """

    x: Tensor
    dt: Tensor
    times: Tensor
    inside: Tensor
    lengths: Tensor
    values: Tensor
    observed: Tensor

    @staticmethod
    def of(x: Tensor, dt: Tensor, lengths: Tensor | None, masked: bool) -> SeriesBatch:
        """Return the batch x (B, T, D), dt (B, T), lengths (B,); with `masked` x is [values ; mask], 2C wide."""
        B, T = dt.shape
        if lengths is None:
            lengths = torch.full((B,), T, device=x.device)
        inside = torch.arange(T, device=x.device) < lengths.unsqueeze(1)
        x = x.masked_fill(~inside.unsqueeze(-1), 0.0)
        dt = dt.masked_fill(~inside, 0.0)
        if masked:
            values, mask = x.chunk(2, dim=-1)
            observed = mask > 0.5
        else:
            values, observed = x, inside.unsqueeze(-1).expand_as(x)
        return SeriesBatch(x, dt, dt.cumsum(dim=1), inside, lengths, values.masked_fill(~observed, 0.0), observed)

    def last(self, y: Tensor) -> Tensor:
        """Return (B, ·): y (B, T, ·) at the last sample of each series, 0 for a series without samples."""
        last = (self.lengths - 1).clamp(min=0)
        outputs = y[torch.arange(len(y), device=y.device), last]
        return outputs.masked_fill((self.lengths == 0).unsqueeze(-1), 0.0)

    def span(self, horizon: float | None) -> Tensor:
        """Return (B, 1) the whole time span: `horizon`, or, if None, the last time of each series (1 instead of 0)."""
        if horizon is not None:
            return self.times.new_full((len(self.times), 1), horizon)
        end = self.times[:, -1:]
        return end.masked_fill(end == 0, 1.0)

    def observations(self) -> Observations:
        """Return the observed values one by one."""
        series, step, channel = self.observed.nonzero(as_tuple=True)
        return Observations(series, channel, self.times[series, step], self.values[series, step, channel])

    def without(self, out: Tensor) -> SeriesBatch:
        """Return the batch without the observed values for which `out` (B, T, C) is True."""
        return dataclasses.replace(self, values=self.values.masked_fill(out, 0.0), observed=self.observed & ~out)


FAR = 60.0
"""Scores further below the largest are raised to it: their weight is below 1e-26, and exp remains fast there."""


def group_softmax(scores: Tensor, group: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """Return the softmax within groups, and the logarithm of the sum of each group.

        weight[n] = exp(score[n]) / Z[group[n]],   Z[g] = Σ over its members of exp(score)

    Args:
        scores: (N, K), for K softmaxes side by side.
        group: (N,) group of each row, in 0…G - 1.
        groups: G, the number of groups.

    Returns:
        (N, K) the weights, and (G, K) log Z, -inf for a group without members.

    """
    index = group.unsqueeze(-1).expand_as(scores)
    least = scores.new_full((groups, scores.shape[1]), -torch.inf)
    largest = least.scatter_reduce(0, index, scores.detach(), "amax")
    empty = largest == -torch.inf
    largest = largest.masked_fill(empty, 0.0)
    parts = torch.exp((scores - largest[group]).clamp(min=-FAR))
    total = torch.zeros_like(largest).index_add(0, group, parts)
    weights = parts / total[group]
    log_total = largest + torch.log(total.masked_fill(empty, 1.0))
    return weights, log_total.masked_fill(empty, -torch.inf)
