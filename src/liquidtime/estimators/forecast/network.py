"""The network of a forecaster: a context from the series so far, and a decoder for any later time."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from liquidtime.estimators.network import SeriesBatch, SeriesNetwork
from liquidtime.estimators.network.pooling import Pool
from liquidtime.training.devices import moved

STEEPEST = 4.0
"""Largest distance of the straight line from the last value, in standard deviations."""
BEYOND = 2.0
"""Number of horizons beyond which a forecast depends on time only by phases, seasons and known channels."""


class Anchors(NamedTuple):
    """The past of C channels of R series up to their cuts, in standard deviations.

    Args:
        last: (R, C) the last values, 0 where there is none.
        known: (R, C) 1 where there is one.
        since: (R, C) scaled time since then.
        mean: (R, C) the mean so far.
        slope: (R, C) of the straight line, per scaled time.
        trend: (R, C) the slope over a longer time.
        phase: (R, P) of the cuts.
    """

    last: Tensor
    known: Tensor
    since: Tensor
    mean: Tensor
    slope: Tensor
    trend: Tensor
    phase: Tensor


class Questions(NamedTuple):
    """Q later times for each of R series.

    Args:
        gap: (R, Q) scaled time since the cut.
        seasonal: (R, Q, C) the seasonal naive forecast; NaN where there is none.
        phase: (R, Q, P).
        known: (R, Q, K) the channels whose future is known, in standard deviations, 0 where nothing is.
    """

    gap: Tensor
    seasonal: Tensor
    phase: Tensor
    known: Tensor


class ForecastNetwork(SeriesNetwork):
    """A series network whose outputs are a context u, and a decoder of u and a later time.

        forecast(t) = last + a · slope · s + e · trend · s + (1 - exp(-s / tau)) · (r + b · (mean so far - last)
                      + c · (seasonal naive - last) + d · (training mean - last)),     s = t - time of the last value

    a to e and r are functions of u and t, the outputs of two hidden layers that see u, the slopes of the newest values
    and over a longer time, where both would lead by t, the distances of the naive forecasts from the last value, the
    gap, and the phases of both times; slopes and distances as shares of what is usual in training, and tau starts as
    what training shows of each channel. Levels that training has never seen are met by the shares a to e, which do not
    depend on the level. The untrained network forecasts the last value, and any network does so as s goes to 0.

    Args:
        *arguments: of `SeriesNetwork`; its outputs are the context.
        channels: C.
        phases: P.
        known: K.
        units: width of the decoder.
        usual: (4, C) of training: roots of the mean squares of slopes, trends and distances of the mean so far from
            the last value, and tau; None for a network of a folder of an earlier form, which sees none of these lines.
        **options: of `SeriesNetwork`.
    """

    usual: Tensor | None

    def __init__(
        self,
        *arguments: Any,
        channels: int,
        phases: int,
        units: int,
        known: int = 0,
        usual: Tensor | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        C = channels
        self._lines = usual is not None
        self.cut = nn.Linear(self.read_out.out_features + 4 * C + phases, units)
        self.ask = nn.Linear(2 + (4 if self._lines else 2) * C + phases + known, units, bias=False)
        self.mix = nn.Linear(units, units)
        self.answer = nn.Linear(units, (6 if self._lines else 5) * C)
        self.log_tau = nn.Parameter(torch.zeros(C) if usual is None else usual[3].log())
        self.register_buffer("usual", None if usual is None else usual[:3].clone())
        nn.init.zeros_(self.answer.weight)
        nn.init.zeros_(self.answer.bias)

    def contexts(self, x: Tensor, dt: Tensor, lengths: Tensor, static: Tensor, history: Tensor, at: Tensor) -> Tensor:
        """Return (B, k, K) the contexts after steps `at` (B, k); other arguments as `prefixes`."""
        y = self._run(self._thinned(x), dt, lengths)
        pool = Pool.of_prefixes(y)
        rows = torch.arange(len(x), device=x.device).unsqueeze(1)
        steps = pool.steps[at]  # (B, k, 1)
        chosen = Pool(pool.total[rows, at], pool.largest[rows, at], steps)
        spread = static.unsqueeze(1).expand(-1, at.shape[1], -1)
        return self._read(y[rows, at], chosen, x[rows, at], history[rows, at], spread)

    def decode(self, context: Tensor, anchors: Anchors, questions: Questions) -> Tensor:
        """Return (R, Q, C) forecasts, in standard deviations, from contexts (R, K)."""
        last = anchors.last.unsqueeze(1)
        away = anchors.mean - anchors.last
        seen = [anchors.slope, anchors.trend, away]
        if self.usual is not None:
            seen = [part / usual for part, usual in zip(seen, self.usual, strict=True)]
        seen.append(anchors.last)
        cut = self.cut(torch.cat([context, *(torch.asinh(part) for part in seen), anchors.phase], dim=-1))
        s = anchors.since.unsqueeze(1) + questions.gap.unsqueeze(-1)  # (R, Q, C)
        season = torch.where(questions.seasonal.isnan(), last, questions.seasonal) - last
        gap = questions.gap.unsqueeze(-1)
        lines = [rise(anchors.slope, s), *([rise(anchors.trend, s)] if self._lines else [])]
        later = [
            torch.log1p(gap),
            torch.sqrt(gap),
            torch.log1p(s),
            torch.asinh(season),
            questions.phase,
            questions.known,
        ]
        later += lines if self._lines else []
        hidden = silu(cut.unsqueeze(1) + self.ask(torch.cat(later, dim=-1)))
        hidden = silu(self.mix(self.dropout(hidden)))
        r, a, b, c, d, *e = self.answer(hidden).chunk(5 + len(lines) - 1, dim=-1)
        tied = -torch.expm1(-s * torch.exp(-self.log_tau))
        tied = torch.where(anchors.known.unsqueeze(1) > 0, tied, torch.ones_like(tied))
        levels = r + b * away.unsqueeze(1) + c * season - d * last
        forecast: Tensor = last + tied * levels
        for share, line in zip((a, *e), lines, strict=True):
            forecast = forecast + share * line
        return forecast


def said_of_cuts(
    network: ForecastNetwork, sample: SeriesBatch, cut: Tensor, anchors: Anchors, questions: Questions
) -> Tensor:
    """Return (B·k, Q, C) forecasts after the steps `cut` (B, k) of a batch, on its device; the rest is on the host."""
    there = sample.x.device
    context = network.contexts(*sample[:5], moved(cut, there)).flatten(0, 1)
    seen = Anchors(*(moved(part, there) for part in anchors))
    return network.decode(context, seen, Questions(*(moved(part, there) for part in questions)))


def rise(slope: Tensor, s: Tensor) -> Tensor:
    """Return (R, Q, C) the bounded distance of a straight line of slope (R, C) from the last value after s."""
    return (slope.unsqueeze(1) * s).clamp(-STEEPEST, STEEPEST)


LAST, LINE, MEAN, SEASONAL = "last value", "straight line", "mean so far", "seasonal naive"
PARTS = ("network", LAST, LINE, MEAN, SEASONAL)
"""Parts of the mixture."""


def parts_of(network: Tensor, anchors: Anchors, questions: Questions) -> Tensor:
    """Return (R, Q, C, J) all `PARTS` in standard deviations, given that of the network (R, Q, C)."""
    last = anchors.last.unsqueeze(1).expand_as(network)
    s = anchors.since.unsqueeze(1) + questions.gap.unsqueeze(-1)
    season = torch.where(questions.seasonal.isnan(), last, questions.seasonal)
    return torch.stack(
        [network, last, last + rise(anchors.slope, s), anchors.mean.unsqueeze(1).expand_as(network), season], dim=-1
    )
