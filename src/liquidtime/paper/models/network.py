"""Whole networks: words in, a recurrent part, a linear read-out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime.baselines import SequenceModel
from liquidtime.layers import Recurrent
from liquidtime.ops import using_backend
from liquidtime.paper.datasets import Sequences
from liquidtime.training import Loss


class Discrete(nn.Module):
    """A recurrent network of torch without time; intervals, if there are any, are an additional input.

    Args:
        kind: `nn.LSTM`, `nn.GRU` or `nn.RNN`.
        input_size: D, number of inputs without time.
        hidden_size: H, number of units.
        has_time: whether dt is input D + 1.

    """

    def __init__(
        self, kind: type[nn.LSTM] | type[nn.GRU] | type[nn.RNN], input_size: int, hidden_size: int, has_time: bool
    ) -> None:
        super().__init__()
        self.has_time = has_time
        self.output_size = hidden_size
        self.network = kind(input_size + int(has_time), hidden_size, batch_first=True)

    def forward(self, x: Tensor, dt: Tensor) -> Tensor:
        """Map x (B, T, D) and dt (B, T) to outputs (B, T, H); padding changes nothing before it."""
        z = torch.cat([x, dt.unsqueeze(-1)], dim=-1) if self.has_time else x
        y: Tensor = self.network(z)[0]
        return y


class SequenceNetwork(nn.Module):
    """A recurrent network with a linear read-out, and an embedding if samples are words.

    Args:
        recurrent: one layer of `liquidtime`, a `Discrete` or a model of whole series.
        outputs: K, number of outputs.
        per_step: whether every sample is read out, or only the last one of each sequence.
        embedding: (number of words, size) of word vectors, or None.
        embedding_dropout: share of their entries that are dropped in training.
        fixed_dt: value that replaces every interval, or None.
        time_scale: factor on every interval: one over the unit of time that the network sees.
        any_dt: whether intervals may be negative, like the published ones. They are then not checked, and the plain
            loop runs, because the kernels refuse negative intervals.

    """

    def __init__(
        self,
        recurrent: Recurrent | Discrete | SequenceModel,
        outputs: int,
        *,
        per_step: bool = False,
        embedding: tuple[int, int] | None = None,
        embedding_dropout: float = 0.0,
        fixed_dt: float | None = None,
        time_scale: float = 1.0,
        any_dt: bool = False,
    ) -> None:
        super().__init__()
        self.per_step, self.fixed_dt, self.any_dt = per_step, fixed_dt, any_dt
        self.time_scale = time_scale
        self.embedding = None if embedding is None else nn.Embedding(*embedding)
        if self.embedding is not None:
            nn.init.uniform_(self.embedding.weight, -0.05, 0.05)
        self.dropout = nn.Dropout(embedding_dropout)
        self.recurrent = recurrent
        self.read_out = nn.Linear(recurrent.output_size, outputs)
        nn.init.xavier_uniform_(self.read_out.weight)
        nn.init.zeros_(self.read_out.bias)
        self.auxiliary: Tensor | None = None

    def forward(self, batch: Sequences) -> Tensor:
        """Map sequences to outputs (B, K), or (B, T, K) if every sample is read out."""
        x = batch.x if self.embedding is None else self.dropout(self.embedding(batch.x))
        dt = batch.dt * self.time_scale if self.fixed_dt is None else torch.full_like(batch.dt, self.fixed_dt)
        y = self._run(x, dt, batch.lengths)
        if not self.per_step:
            last = (batch.lengths - 1).clamp(min=0)
            y = y[torch.arange(len(y)), last]
        out: Tensor = self.read_out(y)
        return out

    def with_own_loss(self, loss: Loss) -> Loss:
        """Return the loss of the task, plus the own loss of the recurrent part in the previous run, if it has one."""
        own, self.auxiliary = self.auxiliary, None
        return loss if own is None else Loss(loss.total + own * loss.weight, loss.weight)

    def _run(self, x: Tensor, dt: Tensor, lengths: Tensor) -> Tensor:
        y: Tensor
        if isinstance(self.recurrent, Discrete):
            y = self.recurrent(x, dt)
        elif isinstance(self.recurrent, SequenceModel):
            y, _, self.auxiliary = self.recurrent.objective(
                x, dt, lengths, with_loss=self.training, check=not self.any_dt
            )
        elif self.any_dt:
            cell = self.recurrent.cells[0]
            with using_backend("reference"):  # the kernels refuse negative intervals
                y, _ = cell.scan(x, cell.initial_state(x), dt, lengths)  # type: ignore[operator]
        else:
            y, _ = self.recurrent(x, dt=dt, lengths=lengths)
        return y
