"""Models that explain a series by latent variables: an encoder, a Gaussian posterior, and a decoder over time."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size
from liquidtime.baselines.series.model import WholeSeriesModel, perceptron
from liquidtime.baselines.series.parts.batch import SeriesBatch
from liquidtime.errors import wrong_shape
from liquidtime.layers.time import Interval


def divergence(mean: Tensor, deviation: Tensor) -> Tensor:
    """Return KL(N(mean, deviation²) ‖ N(0, 1)), summed over the last axis.

    ½ Σ (σ² + μ² - 1 - log σ²)
    """
    return 0.5 * (deviation.square() + mean.square() - 1.0 - 2.0 * torch.log(deviation)).sum(dim=-1)


def log_density(values: Tensor, mean: Tensor, deviation: float) -> Tensor:
    """Return log N(values; mean, deviation²), element by element."""
    return -0.5 * ((values - mean) / deviation).square() - math.log(deviation) - 0.5 * math.log(2 * math.pi)


class LatentModel(WholeSeriesModel):
    """A variational autoencoder of series.

        [μ ; s] = W·encoder(series),   q(z) = N(μ, softplus(s)²),   x̂(t) = decoder(z, t)
        own loss = loss_weight·mean over series of ( KL(q ‖ N(0, 1)) - Σ log N(x; x̂, observation_std²) ) / values

    The output is z, drawn at random in training and its mean otherwise, or a perceptron of it. A model may have several
    z, (B, R, L) instead of (B, L); `condense` then combines them into one vector.

    Args:
        input_size: D, 2C with a mask.
        state_size: width of the encoder.
        latent_size: size of z.
        code_size: size of the result of `condense`; None for that of z.
        head_units: if greater than 0, two layers of this many units with relu between z and the output.
        observation_std: standard deviation of the values around those of the decoder.
        loss_weight: weight of the model's own loss.
        mask: whether x is [values ; mask].

    """

    takes_mask: ClassVar[bool] = True
    horizon: float | None = None

    def __init__(
        self,
        input_size: int,
        state_size: int,
        latent_size: int,
        *,
        code_size: int | None = None,
        head_units: int,
        observation_std: float,
        loss_weight: float,
        mask: bool,
    ) -> None:
        L, head_units = check_size("latent_size", latent_size), check_size("head_units", head_units, least=0)
        width = L if code_size is None else code_size
        super().__init__(input_size, head_units or width, mask=mask)
        self.observation_std = check_positive("observation_std", observation_std)
        self.latent_size, self.loss_weight = L, float(loss_weight)
        self.posterior_map = nn.Linear(state_size, 2 * L)
        self.head = perceptron([width, head_units, head_units] if head_units else [width])

    @abstractmethod
    def encode(self, batch: SeriesBatch) -> Tensor:
        """Return the encoding of each series: (B, state_size), or (B, R, state_size) for several z."""

    @abstractmethod
    def decode(self, z: Tensor, times: Tensor, span: Tensor) -> Tensor:
        """Return (B, Q, C): the decoded values of z at times (B, Q) on the clocks of the series, in any order.

        Args:
            z: (B, L) or (B, R, L).
            times: (B, Q).
            span: (B, 1) whole time span of each series.

        """

    def condense(self, z: Tensor) -> Tensor:
        """Return (B, code_size) from z; by default z itself."""
        return z

    def posterior(self, batch: SeriesBatch) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation of q(z), each (B, L) or (B, R, L)."""
        mean, raw = self.posterior_map(self.encode(batch)).chunk(2, dim=-1)
        return mean, nn.functional.softplus(raw) + 1e-4

    def summarise(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return (B, output_size) from z, and the negative evidence lower bound per value."""
        mean, deviation = self.posterior(batch)
        z = mean + deviation * torch.randn_like(mean) if self.training else mean
        summary: Tensor = self.head(self.condense(z))
        return summary, self._bound(batch, mean, deviation, z) if with_loss else None

    def _bound(self, batch: SeriesBatch, mean: Tensor, deviation: Tensor, z: Tensor) -> Tensor:
        densities = log_density(
            batch.values, self.decode(z, batch.times, batch.span(self.horizon)), self.observation_std
        )
        likelihood = densities.masked_fill(~batch.observed, 0.0).sum(dim=(1, 2))  # (B,)
        count = batch.observed.sum(dim=(1, 2))
        each = (divergence(mean.flatten(1), deviation.flatten(1)) - likelihood) / count.clamp(min=1)
        some = count > 0
        return self.loss_weight * each.masked_fill(~some, 0.0).sum() / some.sum().clamp(min=1)

    def interpolate(self, x: Tensor, dt: Interval, lengths: Tensor | Sequence[int] | None, times: Tensor) -> Tensor:
        """Return (B, Q, C): the values at times (B, Q) on the clocks of the series, from the mean of the posterior.

        The other arguments are those of `forward`. Times before 0 are not supported.
        """
        batch = self.batch(x, dt, lengths)
        if times.dim() != 2 or len(times) != len(x):
            raise wrong_shape("times", "(B, Q)", [len(x), "Q"], times.shape, "Times on the clock of each series.")
        if times.numel() and not bool((times >= 0).all()):
            raise ValueError("`times` must be at least 0, where the clock of each series starts.")
        return self.decode(self.posterior(batch)[0], times.to(x.dtype), batch.span(self.horizon))

    def inputs(self, batch: SeriesBatch) -> Tensor:
        """Return (B, T, 2C or C): inputs of an encoder, values (0 where not observed) and the mask if there is one."""
        return torch.cat([batch.values, batch.observed.to(batch.x.dtype)], -1) if self.mask else batch.values
