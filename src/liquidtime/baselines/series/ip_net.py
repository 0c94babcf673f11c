from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from liquidtime._checks import check_positive, check_rate, check_size, named_arguments
from liquidtime.baselines.series.model import WholeSeriesModel, reference_times
from liquidtime.baselines.series.parts.batch import Observations, SeriesBatch, group_softmax
from liquidtime.errors import wrong_shape
from liquidtime.layers.time import Interval

_SPAN = 48.0
"""Length of a whole series in the unit in which α starts at log 2: the hours of the paper's data."""
_ROUGHNESS = 10.0
"""κ, the factor by which the kernel of the transient is narrower."""

_ASKED = 64
"""Number of samples per series that the model's own loss evaluates."""


class IPNet(WholeSeriesModel):
    """Interpolation-prediction network: channels are interpolated at common reference times r, then read by a GRU.

        w(r, t; α) = exp(-α·(r - t)²),   λ_d(r) = Σ_j w(r, t_j; α_d)                        intensity
        σ_d(r) = Σ_j w(r, t_j; α_d)·x_j / λ_d(r)                                            each channel by itself
        χ_d(r) = Σ_e ρ_de·λ_e(r)·σ_e(r) / Σ_e λ_e(r)                                        smooth, across channels
        τ_d(r) = γ_d(r) - χ_d(r),   γ like σ with κ·α                                       transient
        y = last state of GRU([χ ; λ ; τ](r_1 … r_R))

    With `centred`, as in the code of the authors, χ_d(r) = σ̄_d + Σ_e ρ_de·λ_e(r)·(σ_e(r) - σ̄_e) / Σ_e λ_e(r), where
    σ̄_d is the mean of σ_d over the requested times.

    The model's own loss is the mean squared error of χ at values that are removed from the series beforehand.

    Args:
        input_size: D, 2C with a mask.
        hidden_size: H, the width of the GRU and of the output.
        reference_points: R, the number of reference times over the span of the series.
        horizon: the span, in the unit of dt; None for that of each series.
        mask: whether x is [values ; mask].
        held_out: fraction of the observed values that are removed for the model's own loss.
        loss_weight: weight of the model's own loss.
        centred: whether channels are centred before they are mixed.

    Reference: Shukla & Marlin, Interpolation-Prediction Networks for Irregularly Sampled Time Series, ICLR 2019.

    """

    takes_mask: ClassVar[bool] = True

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        reference_points: int = 64,
        horizon: float | None = None,
        mask: bool = True,
        held_out: float = 0.2,
        loss_weight: float = 1.0,
        centred: bool = False,
    ) -> None:
        super().__init__(input_size, check_size("hidden_size", hidden_size), mask=mask)
        self.reference_points = check_size("reference_points", reference_points)
        self.horizon = None if horizon is None else check_positive("horizon", horizon)
        self.loss_weight, self.centred = float(loss_weight), bool(centred)
        self.held_out = check_rate("held_out", held_out)
        C = self.channels
        self.decay = nn.Parameter(torch.zeros(C))
        self.cross = nn.Parameter(torch.eye(C))
        self.network = nn.GRU(3 * C, hidden_size, batch_first=True)

    def interpolants(self, batch: SeriesBatch, at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return χ, λ and τ, each (B, R, C), at times (B, R)."""
        observations = batch.observations()
        scores = self._scores(batch, observations, at)
        smooth, log_intensity = self._smooth(observations, scores, at)
        rough, _ = self._means(observations, _ROUGHNESS * scores, at)
        return smooth, log_intensity.exp().transpose(1, 2), rough.transpose(1, 2) - smooth

    def smooth(self, batch: SeriesBatch, at: Tensor) -> Tensor:
        """Return χ (B, R, C) at times (B, R)."""
        observations = batch.observations()
        return self._smooth(observations, self._scores(batch, observations, at), at)[0]

    def _scores(self, batch: SeriesBatch, observations: Observations, at: Tensor) -> Tensor:
        """Return (N, R): -α·(r - t)² for every observation and reference time."""
        unit = (_SPAN / batch.span(self.horizon))[observations.series]  # (N, 1)
        apart = (at[observations.series] - observations.time.unsqueeze(-1)) * unit
        return -softplus(self.decay)[observations.channel].unsqueeze(-1) * apart.square()

    def _smooth(self, observations: Observations, scores: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """Return χ (B, R, C) and log λ (B, C, R)."""
        own, log_intensity = self._means(observations, scores, at)
        none = (log_intensity == -torch.inf).all(dim=1, keepdim=True)
        share = log_intensity.masked_fill(none, 0.0).softmax(dim=1)
        centre = own.mean(dim=2, keepdim=True) if self.centred else own.new_zeros(())
        mixed = torch.einsum("de,ber->brd", self.cross, share * (own - centre))
        return mixed + centre.transpose(1, 2) if self.centred else mixed, log_intensity

    def _means(self, observations: Observations, scores: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weighted mean of each channel's values and the logarithm of the sum of weights, each (B, C, R)."""
        B, C = len(at), self.channels
        group = observations.series * C + observations.channel
        weights, log_total = group_softmax(scores, group, B * C)
        mean = torch.zeros_like(log_total).index_add(0, group, weights * observations.value.unsqueeze(-1))
        return mean.reshape(B, C, -1), log_total.reshape(B, C, -1)

    def interpolate(self, x: Tensor, dt: Interval, lengths: Tensor | Sequence[int] | None, times: Tensor) -> Tensor:
        """Return (B, Q, C): the smooth interpolant at times (B, Q) on the series' clocks; arguments as in `forward`."""
        batch = self.batch(x, dt, lengths)
        if times.dim() != 2 or len(times) != len(x):
            raise wrong_shape("times", "(B, Q)", [len(x), "Q"], times.shape, "Times on the clock of each series.")
        return self.smooth(batch, times.to(x.dtype))

    def summarise(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return (B, H): the last state of the GRU, and the error of the interpolation."""
        at = reference_times(self.reference_points, batch.span(self.horizon))
        states, _ = self.network(torch.cat(self.interpolants(batch, at), dim=-1))
        return states[:, -1], self._error(batch) if with_loss else None

    def _error(self, batch: SeriesBatch) -> Tensor:
        """Return the mean squared error at values removed from up to 64 random samples of each series."""
        draw = torch.rand_like(batch.dt).masked_fill(~batch.inside, 2.0)
        steps = draw.topk(min(_ASKED, draw.shape[1]), dim=1, largest=False).indices  # (B, K)
        asked = torch.zeros_like(batch.inside).scatter(1, steps, True)
        out = asked.unsqueeze(-1) & batch.observed & (torch.rand_like(batch.values) < self.held_out)
        guesses = self.smooth(batch.without(out), batch.times.gather(1, steps))
        where = steps.unsqueeze(-1).expand_as(guesses)
        squares = (guesses - batch.values.gather(1, where)).square()
        return self.loss_weight * squares.masked_fill(~out.gather(1, where), 0.0).sum() / out.sum().clamp(min=1)
