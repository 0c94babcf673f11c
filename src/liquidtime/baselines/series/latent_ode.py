from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_choice, check_positive, check_size, named_arguments
from liquidtime.baselines.recurrent.parts.field import Field
from liquidtime.baselines.series.parts.batch import SeriesBatch
from liquidtime.baselines.series.parts.latent import LatentModel
from liquidtime.layers.time import reverse
from liquidtime.solvers import Solver


class LatentODE(LatentModel):
    """A variational autoencoder whose decoder is a differential equation.

        dz/dt = f(z) from z(0) ~ q,   x̂(t) = W z(t)
        "rnn" encoder: a GRU over [ values ; mask ; dt ], backwards in time
        "ode_rnn" encoder: backwards in time h ← solution of dh/dt = f_e(h) over dt, h ← GRU([ values ; mask ], h)

    z(0) belongs to time 0 on the clock of the series. Each series is solved over its own intervals.

    Args:
        input_size: D, 2C with a mask.
        hidden_size: H, the width of the encoder.
        encoder: "rnn" or "ode_rnn".
        latent_size: size of z; None for H.
        units: width of the hidden layers of f and f_e; None for H.
        layers: number of hidden layers of f and f_e.
        time_scale: number by which intervals are divided.
        solver: "euler" or "rk4" with `steps` equal steps per interval, "dopri5", or another explicit `Solver`, such as
            `Dopri5(rtol=1e-3, atol=1e-3, adjoint=True)`.
        steps: number of steps of a fixed-step solver.
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
        encoder: str = "ode_rnn",
        latent_size: int | None = None,
        units: int | None = None,
        layers: int = 1,
        time_scale: float = 1.0,
        solver: str | Solver = "rk4",
        steps: int = 1,
        head_units: int = 0,
        observation_std: float = 0.1,
        loss_weight: float = 0.01,
        mask: bool = True,
    ) -> None:
        H = check_size("hidden_size", hidden_size)
        check_choice("encoder", encoder, ("rnn", "ode_rnn"))
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

        def field(size: int) -> Field:
            return Field(size, H if units is None else units, solver, steps, layers)

        self.encoder = _ODERNN(self.input_size, H, field(H)) if encoder == "ode_rnn" else _RNN(self.input_size, H)
        self.field = field(self.latent_size)
        self.emit = nn.Linear(self.latent_size, self.channels)

    def encode(self, batch: SeriesBatch) -> Tensor:
        """Return (B, H): the state of the encoder at time 0, after reading the series backwards."""
        x = reverse(self.inputs(batch), batch.lengths)
        # Backwards in time, the interval before a sample is integrated after it.
        dt = reverse(batch.dt, batch.lengths) / self.time_scale
        state: Tensor = self.encoder(x, dt, batch)
        return state

    def decode(self, z: Tensor, times: Tensor, span: Tensor) -> Tensor:
        """Return (B, Q, C): values on the solution."""
        values: Tensor = self.emit(self.field.along(z, times / self.time_scale))
        return values


class _RNN(nn.Module):
    def __init__(self, D: int, H: int) -> None:
        super().__init__()
        self.network = nn.GRU(D + 1, H, batch_first=True)

    def forward(self, x: Tensor, dt: Tensor, batch: SeriesBatch) -> Tensor:
        states, _ = self.network(torch.cat([x, dt.unsqueeze(-1)], dim=-1))
        return batch.last(states)


class _ODERNN(nn.Module):
    def __init__(self, D: int, H: int, field: Field) -> None:
        super().__init__()
        self.field, self.cell = field, nn.GRUCell(D, H)

    def forward(self, x: Tensor, dt: Tensor, batch: SeriesBatch) -> Tensor:
        h = x.new_zeros(len(x), self.cell.hidden_size)
        for k in range(x.shape[1]):
            after = self.field(self.cell(x[:, k], h), dt[:, k])
            h = torch.where(batch.inside[:, k].unsqueeze(-1), after, h)
        return h
