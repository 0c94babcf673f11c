from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size, named_arguments
from liquidtime.baselines.series.parts.batch import SeriesBatch
from liquidtime.baselines.series.parts.latent import LatentModel


class RNNVAE(LatentModel):
    """A variational autoencoder whose encoder and decoder are GRUs with the intervals as inputs.

        encoder: GRU over [ values ; mask ; dt ];   decoder: GRU from W z over the gaps between requested times

    Args:
        input_size: D, 2C with a mask.
        hidden_size: H, the width of both GRUs.
        latent_size: size of z; None for H.
        time_scale: number by which intervals are divided.
        head_units: see `LatentModel`.
        observation_std: see `LatentModel`.
        loss_weight: see `LatentModel`.
        mask: whether x is [values ; mask].

    Reference: Rubanova, Chen & Duvenaud, Latent ODEs for Irregularly-Sampled Time Series, NeurIPS 2019.

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        latent_size: int | None = None,
        time_scale: float = 1.0,
        head_units: int = 0,
        observation_std: float = 0.1,
        loss_weight: float = 0.01,
        mask: bool = True,
    ) -> None:
        H = check_size("hidden_size", hidden_size)
        super().__init__(
            input_size,
            H,
            H if latent_size is None else latent_size,
            head_units=head_units,
            observation_std=observation_std,
            loss_weight=loss_weight,
            mask=mask,
        )
        self.time_scale = check_positive("time_scale", time_scale)
        self.encoder = nn.GRU(self.input_size + 1, H, batch_first=True)
        self.start = nn.Linear(self.latent_size, H)
        self.decoder = nn.GRU(1, H, batch_first=True)
        self.emit = nn.Linear(H, self.channels)

    def encode(self, batch: SeriesBatch) -> Tensor:
        """Return (B, H): the state of the encoder at the last sample."""
        gaps = batch.dt.unsqueeze(-1) / self.time_scale
        states, _ = self.encoder(torch.cat([self.inputs(batch), gaps], dim=-1))
        return batch.last(states)

    def decode(self, z: Tensor, times: Tensor, span: Tensor) -> Tensor:
        """Return (B, Q, C) by one run over the times in ascending order."""
        in_order, order = times.sort(dim=1)
        gaps = torch.diff(in_order, dim=1, prepend=torch.zeros_like(in_order[:, :1])) / self.time_scale
        states, _ = self.decoder(gaps.unsqueeze(-1), self.start(z).unsqueeze(0))
        values: Tensor = self.emit(states)
        return values.gather(1, order.argsort(dim=1).unsqueeze(-1).expand_as(values))
