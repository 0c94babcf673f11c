"""From encoded series to outputs: a recurrent layer, pooling over time, and a read-out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from liquidtime._checks import check_rate, check_size
from liquidtime._types import HiddenState
from liquidtime.cells import Cell
from liquidtime.estimators.network.piecewise import PiecewiseLinear
from liquidtime.estimators.network.pooling import Pool
from liquidtime.estimators.network.reader import WholeSeriesReader
from liquidtime.layers import Recurrent
from liquidtime.training import Loss
from liquidtime.training.ranks import Dropout, drawn, share


class NetworkState(NamedTuple):
    """The state of a network between steps of B series.

    Args:
        h: the recurrent layer's state, (L, B, ·) or a tuple of such.
        pool: of its outputs so far.
    """

    h: HiddenState
    pool: Pool

    def repeat(self, times: int) -> NetworkState:
        """Return the state with every series `times` times in a row, for as many ways to continue it."""
        B, device = len(self.pool.steps), self.pool.steps.device
        return self.at(torch.arange(B, device=device).repeat_interleave(times))

    def at(self, rows: Tensor) -> NetworkState:
        """Return the state of the series `rows` (R,), in their order."""
        h = _map(lambda part: part.index_select(1, rows), self.h)
        return NetworkState(h, Pool(*(part.index_select(0, rows) for part in self.pool)))

    def where(self, chosen: Tensor, other: NetworkState) -> NetworkState:
        """Return this state for the series where `chosen` (B,) is True, and the other one for the rest."""
        chosen = chosen.unsqueeze(-1)  # (B, 1), also beside (L, B, ·)
        pool = Pool(*(torch.where(chosen, mine, its) for mine, its in zip(self.pool, other.pool, strict=True)))
        mine, its = _parts(self.h), _parts(other.h)
        parts = tuple(torch.where(chosen, one, another) for one, another in zip(mine, its, strict=True))
        return NetworkState(parts[0] if isinstance(self.h, Tensor) else parts, pool)


def channel_dropout_of(channels: int) -> float:
    """Return the default dropout of channels: 0 with up to 3, of which few would be left, to 0.3 with 16 and more."""
    return 0.3 * min(max(channels - 3, 0) / 13, 1.0)


class SeriesNetwork(nn.Module):
    """A recurrent layer whose states are pooled over time and read out.

        y_1 … y_k = recurrent(x_1 … x_k, dt_1 … dt_k)
        z_k = drop([ y_k ; mean_{j<=k} y_j ; max_{j<=k} y_j ; pieces([ x_k ; history_k ; static ]) ])
        out_k = V·drop(silu(W·z_k + b)) + c

    The output after step k depends only on steps up to k. `forward` returns it after the last step of each series,
    `prefixes` after every step, and `step` processes one step at a time; their numbers agree. A series without steps
    has zeros for everything but its static features. Around a `WholeSeriesReader` there is no `step`, and
    where its outputs know later samples `prefixes` runs it on every prefix.

    Args:
        recurrent: the layer, batch first and forward in time only; or a `WholeSeriesReader`.
        pieces: encodes what the read-out sees besides the states.
        outputs: K.
        read_out_units: width of the read-out's hidden layer.
        dropout: of the read-out's two layers, in training.
        channel_dropout: the fraction of channels whose every input is 0 for a whole series, in training.
        channel_of: (D,) the channel of each input.
    """

    channel_of: Tensor

    def __init__(
        self,
        recurrent: Recurrent | WholeSeriesReader,
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
        self.dropout = Dropout(check_rate("dropout", dropout))
        self.channel_dropout = check_rate("channel_dropout", channel_dropout)
        channels = torch.tensor(list(channel_of) or range(recurrent.input_size))
        self.register_buffer("channel_of", channels, persistent=False)
        self._channels = int(channels.max()) + 1
        self.hidden = nn.Linear(3 * recurrent.output_size + pieces.pieces, check_size("read_out_units", read_out_units))
        self.read_out = nn.Linear(self.hidden.out_features, outputs)
        self._own_loss: Tensor | None = None

    def forward(self, x: Tensor, dt: Tensor, lengths: Tensor, static: Tensor, history: Tensor) -> Tensor:
        """Return (B, K), the outputs after each series' last step.

        Args:
            x: (B, T, D) encoded steps.
            dt: (B, T) time since the previous step.
            lengths: (B,) number of steps, perhaps 0.
            static: (B, F).
            history: (B, G) after the last step.
        """
        out: Tensor = self.read_out(self.units_after(x, dt, lengths, static, history))
        return out

    def units_after(self, x: Tensor, dt: Tensor, lengths: Tensor, static: Tensor, history: Tensor) -> Tensor:
        """Return (B, R), the read-out's hidden units after each series' last step; arguments as `forward`."""
        return self._after(self._thinned(x), x, dt, lengths, static, history)

    def _after(
        self, thinned: Tensor, x: Tensor, dt: Tensor, lengths: Tensor, static: Tensor, history: Tensor
    ) -> Tensor:
        """Return the hidden units of `units_after`; the layer sees `thinned`, the read-out x."""
        y = self._run(thinned, dt, lengths)
        steps = self.recurrent.steps_of(lengths) if isinstance(self.recurrent, WholeSeriesReader) else lengths
        some = (lengths > 0).unsqueeze(-1)  # (B, 1)
        rows, last, end = torch.arange(len(x), device=x.device), (lengths - 1).clamp(min=0), (steps - 1).clamp(min=0)
        pool = Pool.of_series(y, steps)
        pool = pool._replace(largest=pool.largest.masked_fill(~some, 0.0))
        return self._units(y[rows, end], pool, x[rows, last] * some, history, static)

    def prefixes(self, x: Tensor, dt: Tensor, lengths: Tensor, static: Tensor, history: Tensor) -> Tensor:
        """Return (B, T, K), the outputs after every step; arguments as `forward`, but history (B, T, G)."""
        if isinstance(self.recurrent, WholeSeriesReader) and not self.recurrent.causal:
            return self._each_prefix(x, dt, lengths, static, history)
        y = self._run(self._thinned(x), dt, lengths)
        spread = static.unsqueeze(1).expand(-1, x.shape[1], -1)
        return self._read(y, Pool.of_prefixes(y), x, history, spread)

    def start(self, B: int) -> NetworkState:
        """Return the state of B series before their first step."""
        layer, like = self._steps(), self.hidden.weight
        states = zip(*(cast(Cell, cell).initial_state(like.new_empty(B, 0)) for cell in layer.cells), strict=True)
        parts = tuple(torch.stack(part) for part in states)
        return NetworkState(parts[0] if len(parts) == 1 else parts, Pool.empty(B, layer.output_size, like))

    def states(self, x: Tensor, dt: Tensor, lengths: Tensor) -> NetworkState:
        """Return the state after each series' last step, from which `step` continues; arguments as `forward`."""
        y, h = self._steps()(self._thinned(x), dt=dt, lengths=lengths)
        return NetworkState(h, Pool.of_series(y, lengths))

    def step(
        self, x: Tensor, state: NetworkState, dt: Tensor, static: Tensor, history: Tensor
    ) -> tuple[Tensor, NetworkState]:
        """Take one step of each series.

        Args:
            x: (B, D).
            state: as `start`, `states` and this method return it.
            dt: (B,) time since the previous step.
            static: (B, F).
            history: (B, G) after this step.

        Returns:
            (B, K) the outputs, and the new state.

        """
        y, after = self.advance(x, state, dt)
        return self._read(y, after.pool, x, history, static), after

    def advance(self, x: Tensor, state: NetworkState, dt: Tensor) -> tuple[Tensor, NetworkState]:
        """Take one step of each series without reading it out: the layer's outputs (B, H), and the new state."""
        y, h = self._steps().step(x, state.h, dt)
        return y, NetworkState(h, state.pool.add(y))

    def read(self, y: Tensor, state: NetworkState, x: Tensor, history: Tensor, static: Tensor) -> Tensor:
        """Return (B, K) the outputs after a step that `advance` took; arguments as `step`."""
        return self._read(y, state.pool, x, history, static)

    def with_own_loss(self, loss: Loss) -> Loss:
        """Return a task's loss and, added to its mean, the own loss of the model that ran before, if it has one."""
        own, self._own_loss = self._own_loss, None
        if own is None:
            return loss
        if share() is not None:
            raise ValueError(
                "`network` has a loss of its own that does not add up over ranks; train it in one process, or several "
                "networks with `n_jobs`."
            )
        return loss._replace(total=loss.total + own * loss.weight)

    def _run(self, x: Tensor, dt: Tensor, lengths: Tensor) -> Tensor:
        """Return the layer's outputs (B, T, H), and keep the own loss of a model that has one."""
        y, rest = self.recurrent(x, dt=dt, lengths=lengths)
        if isinstance(self.recurrent, WholeSeriesReader):
            self._own_loss = rest
        outputs: Tensor = y
        return outputs

    def _each_prefix(self, x: Tensor, dt: Tensor, lengths: Tensor, static: Tensor, history: Tensor) -> Tensor:
        """Return (B, T, K) by one run for every k, on the first k steps of each series."""
        thinned, outs = self._thinned(x), []
        for k in range(1, x.shape[1] + 1):
            seen = lengths.clamp(max=k)
            units = self._after(thinned[:, :k], x[:, :k], dt[:, :k], seen, static, history[:, k - 1])
            outs.append(self.read_out(units))
        return torch.stack(outs, dim=1) if outs else x.new_zeros(len(x), 0, self.read_out.out_features)

    def _steps(self) -> Recurrent:
        """Return the layer, or refuse one that takes no single samples."""
        if isinstance(self.recurrent, WholeSeriesReader):
            raise ValueError(self.recurrent.refusal)
        return self.recurrent

    def _thinned(self, x: Tensor) -> Tensor:
        """Return x (B, T, D) without the channels that are dropped from each series, in training."""
        if not self.training or self.channel_dropout == 0.0:
            return x
        present = drawn(lambda n: torch.rand(n, self._channels, device=x.device), len(x)) >= self.channel_dropout
        return x * present[:, self.channel_of].unsqueeze(1)

    def _read(self, last: Tensor, pool: Pool, x: Tensor, history: Tensor, static: Tensor) -> Tensor:
        out: Tensor = self.read_out(self._units(last, pool, x, history, static))
        return out

    def _units(self, last: Tensor, pool: Pool, x: Tensor, history: Tensor, static: Tensor) -> Tensor:
        seen = self.pieces(torch.cat([x, history, static], dim=-1))
        z = self.dropout(torch.cat([last, pool.mean, pool.largest, seen], dim=-1))
        units: Tensor = self.dropout(silu(self.hidden(z)))
        return units


def _parts(h: HiddenState) -> tuple[Tensor, ...]:
    return (h,) if isinstance(h, Tensor) else tuple(h)


def _map(function: Callable[[Tensor], Tensor], h: HiddenState) -> HiddenState:
    return function(h) if isinstance(h, Tensor) else tuple(function(part) for part in h)
