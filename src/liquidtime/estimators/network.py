"""From encoded series to outputs: a recurrent layer, pooling over time, and a read-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from liquidtime._checks import check_rate, check_size
from liquidtime._types import HiddenState
from liquidtime.estimators.piecewise import PiecewiseLinear
from liquidtime.layers import Recurrent


class NetworkState(NamedTuple):
    """What a network carries from one sample of B series to the next.

    Args:
        h: the recurrent layer's state.
        total: (B, H) sum of its outputs so far.
        largest: (B, H) the largest of each output so far.
        samples: (B, 1) how many so far.
    """

    h: HiddenState
    total: Tensor
    largest: Tensor
    samples: Tensor

    def repeat(self, times: int) -> NetworkState:
        """Return the state with every series `times` times in a row, for as many ways to go on."""
        parts = (self.h,) if isinstance(self.h, Tensor) else self.h
        h = tuple(part.repeat_interleave(times, dim=1) for part in parts)
        rest = (part.repeat_interleave(times, dim=0) for part in (self.total, self.largest, self.samples))
        return NetworkState(h[0] if isinstance(self.h, Tensor) else h, *rest)


class SeriesNetwork(nn.Module):
    """A recurrent layer whose states are pooled over time and read out.

        y_1 … y_k = recurrent(x_1 … x_k, dt_1 … dt_k)
        z_k = drop([ y_k ; mean_{j<=k} y_j ; max_{j<=k} y_j ; pieces([ x_k ; history_k ; static ]) ])
        out_k = V·drop(silu(W·z_k + b)) + c

    The output after sample k depends on samples up to k alone: `forward` gives that after the last sample of each
    series, `prefixes` that after every sample, and `step` takes one sample at a time; their numbers agree. A series
    without samples has zeros for everything but its static features.

    Args:
        recurrent: the layer, batch first and forward in time only.
        pieces: encodes what the read-out sees besides the states.
        outputs: K.
        read_out_units: width of the read-out's hidden layer.
        dropout: of the read-out's two layers, in training.
        channel_dropout: the share of channels whose every input is 0 for a whole series, in training.
        channel_of: (D,) the channel of each input.
    """

    channel_of: Tensor

    def __init__(
        self,
        recurrent: Recurrent,
        pieces: PiecewiseLinear,
        outputs: int,
        read_out_units: int = 64,
        dropout: float = 0.0,
        channel_dropout: float = 0.0,
        channel_of: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.recurrent = recurrent
        self.pieces = pieces
        self.dropout = nn.Dropout(check_rate("dropout", dropout))
        self.channel_dropout = check_rate("channel_dropout", channel_dropout)
        places = torch.tensor(list(channel_of) or range(recurrent.input_size))
        self.register_buffer("channel_of", places, persistent=False)
        self.hidden = nn.Linear(3 * recurrent.output_size + pieces.pieces, check_size("read_out_units", read_out_units))
        self.read_out = nn.Linear(self.hidden.out_features, outputs)

    def forward(self, x: Tensor, dt: Tensor, lengths: Tensor, static: Tensor, history: Tensor) -> Tensor:
        """Return (B, K), the outputs after each series' last sample.

        Args:
            x: (B, T, D) encoded samples.
            dt: (B, T) time since the previous sample.
            lengths: (B,) number of samples, perhaps 0.
            static: (B, F).
            history: (B, G) after the last sample.
        """
        y, _ = self.recurrent(self._thinned(x), dt=dt, lengths=lengths)
        some = (lengths > 0).unsqueeze(-1)  # (B, 1)
        inside = (torch.arange(x.shape[1], device=x.device) < lengths.unsqueeze(1)).unsqueeze(-1)  # (B, T, 1)
        rows, last = torch.arange(len(x), device=x.device), (lengths - 1).clamp(min=0)
        largest = y.masked_fill(~inside, -torch.inf).amax(dim=1).masked_fill(~some, 0.0)
        mean = y.sum(dim=1) / lengths.clamp(min=1).unsqueeze(-1)
        return self._read(y[rows, last], mean, largest, x[rows, last] * some, history, static)

    def prefixes(self, x: Tensor, dt: Tensor, lengths: Tensor, static: Tensor, history: Tensor) -> Tensor:
        """Return (B, T, K), the outputs after every sample; arguments as `forward`, but history (B, T, G)."""
        y, _ = self.recurrent(self._thinned(x), dt=dt, lengths=lengths)
        count = torch.arange(1, x.shape[1] + 1, device=x.device).unsqueeze(-1)  # (T, 1)
        spread = static.unsqueeze(1).expand(-1, x.shape[1], -1)
        return self._read(y, y.cumsum(dim=1) / count, y.cummax(dim=1).values, x, history, spread)

    def states(self, x: Tensor, dt: Tensor, lengths: Tensor) -> NetworkState:
        """Return the state after each series' last sample, from which `step` goes on; arguments as `forward`."""
        y, h = self.recurrent(self._thinned(x), dt=dt, lengths=lengths)
        inside = (torch.arange(x.shape[1], device=x.device) < lengths.unsqueeze(1)).unsqueeze(-1)  # (B, T, 1)
        largest = y.masked_fill(~inside, -torch.inf).amax(dim=1)
        return NetworkState(h, y.sum(dim=1), largest, lengths.unsqueeze(-1).to(y.dtype))

    def step(
        self, x: Tensor, state: NetworkState | None, dt: Tensor, static: Tensor, history: Tensor
    ) -> tuple[Tensor, NetworkState]:
        """Take one sample of each series.

        Args:
            x: (B, D).
            state: as this method returns it; None starts.
            dt: (B,) time since the previous sample.
            static: (B, F).
            history: (B, G) after this sample.

        Returns:
            (B, K) the outputs, and the new state.

        """
        y, h = self.recurrent.step(x, None if state is None else state.h, dt)
        if state is None:
            after = NetworkState(h, y, y, y.new_ones(len(y), 1))
        else:
            after = NetworkState(h, state.total + y, torch.maximum(state.largest, y), state.samples + 1)
        return self._read(y, after.total / after.samples, after.largest, x, history, static), after

    def _thinned(self, x: Tensor) -> Tensor:
        """Return x (B, T, D) without the channels that are dropped from each series, in training."""
        if not self.training or self.channel_dropout == 0.0:
            return x
        channels = int(self.channel_of.max()) + 1
        kept = torch.rand(len(x), channels, device=x.device) >= self.channel_dropout
        return x * kept[:, self.channel_of].unsqueeze(1)

    def _read(self, last: Tensor, mean: Tensor, largest: Tensor, x: Tensor, history: Tensor, static: Tensor) -> Tensor:
        seen = self.pieces(torch.cat([x, history, static], dim=-1))
        z = self.dropout(torch.cat([last, mean, largest, seen], dim=-1))
        out: Tensor = self.read_out(self.dropout(silu(self.hidden(z))))
        return out
