from __future__ import annotations

from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size, named_arguments
from liquidtime.baselines.series.model import reference_times
from liquidtime.baselines.series.mtand import TimeAttention, with_ever_observed
from liquidtime.baselines.series.parts.batch import SeriesBatch
from liquidtime.baselines.series.parts.latent import LatentModel


class MTANDFull(LatentModel):
    """Complete multi-time attention networks: a variational autoencoder with a z at every reference time.

        q(z_1 … z_R) from a bidirectional GRU over U [ x̂_hd(r) ; channel d ever observed ], x̂ as in `MTAND`
        x̂(t) = W relu(W' [ Σ_r κ_h(t, r)·s_r ]_h),   s = bidirectional GRU over z_1 … z_R
        y = last state of GRU(z_1 … z_R)

    Args:
        input_size: D, 2C with a mask.
        hidden_size: H, the width of the encoder's GRU in each direction, and of the output's GRU.
        latent_size: size of each z.
        decoder_size: width of the decoder's GRU in each direction and of W'.
        reference_points: R, the number of reference times over the span of the series.
        embedding_size: size of the embeddings of time, one for each attention.
        heads: number of heads of both attentions.
        horizon: the span, in the unit of dt, which the embeddings map to 0…1; None for that of each series.
        head_units: see `LatentModel`.
        observation_std: see `LatentModel`.
        loss_weight: see `LatentModel`.
        mask: whether x is [values ; mask].

    Reference: Shukla & Marlin, Multi-Time Attention Networks for Irregularly Sampled Time Series, ICLR 2021.

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        latent_size: int = 8,
        decoder_size: int = 32,
        reference_points: int = 64,
        embedding_size: int = 128,
        heads: int = 1,
        horizon: float | None = None,
        head_units: int = 0,
        observation_std: float = 0.1,
        loss_weight: float = 0.01,
        mask: bool = True,
    ) -> None:
        H, G = check_size("hidden_size", hidden_size), check_size("decoder_size", decoder_size)
        super().__init__(
            input_size,
            2 * H,
            latent_size,
            code_size=H,
            head_units=head_units,
            observation_std=observation_std,
            loss_weight=loss_weight,
            mask=mask,
        )
        self.reference_points = check_size("reference_points", reference_points)
        self.horizon = None if horizon is None else check_positive("horizon", horizon)
        self.attention = TimeAttention(embedding_size, heads)
        self.mix = nn.Linear((heads + 1) * self.channels, H)
        self.encoder = nn.GRU(H, H, batch_first=True, bidirectional=True)
        self.network = nn.GRU(self.latent_size, H, batch_first=True)
        self.decoder = nn.GRU(self.latent_size, G, batch_first=True, bidirectional=True)
        self.back = TimeAttention(embedding_size, heads)
        self.emit = nn.Sequential(nn.Linear(heads * 2 * G, G), nn.ReLU(), nn.Linear(G, self.channels))

    def encode(self, batch: SeriesBatch) -> Tensor:
        """Return (B, R, 2H): the states of the encoder at the reference times."""
        span = batch.span(self.horizon)
        at = reference_times(self.reference_points, span)
        interpolants = self.attention(at / span, batch.times / span, batch)
        states: Tensor = self.encoder(self.mix(with_ever_observed(interpolants, batch)))[0]
        return states

    def condense(self, z: Tensor) -> Tensor:
        """Return (B, H): the last state of a GRU over z (B, R, L)."""
        states: Tensor = self.network(z)[0]
        return states[:, -1]

    def decode(self, z: Tensor, times: Tensor, span: Tensor) -> Tensor:
        """Return (B, Q, C) by attention from these times to the reference times."""
        states, _ = self.decoder(z)
        at = reference_times(self.reference_points, span) / span
        values: Tensor = self.emit(self.back.among(times / span, at, states))
        return values
