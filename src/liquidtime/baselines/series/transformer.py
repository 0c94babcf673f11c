from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from liquidtime._checks import check_rate, check_size, named_arguments
from liquidtime.baselines.series.model import SequenceModel
from liquidtime.baselines.series.parts.batch import SeriesBatch
from liquidtime.baselines.series.parts.time_encoding import TimeEncoding
from liquidtime.training.ranks import Dropout


class Transformer(SequenceModel):
    """The encoder of the Transformer, in which samples attend to themselves and earlier ones, encoded by true times.

        z = W x + φ(t),   φ(t) sines and cosines of the time since the series began
        z ← norm(z + attention(z)),   z ← norm(z + W2 relu(W1 z))                              in each layer

    Args:
        input_size: D.
        hidden_size: H, even.
        num_layers: number of layers.
        heads: number of attention heads, of which H must be a multiple. None for 4, or 2 if H is not
            a multiple of 4.
        dropout: dropout rate of both branches, in training.
        shortest: period / 2π of the fastest wave of the encoding, in the unit of dt.
        longest: the same for the slowest wave.

    Reference: Vaswani et al., Attention Is All You Need, NeurIPS 2017.

    """

    causal: ClassVar[bool] = True

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        num_layers: int = 2,
        heads: int | None = None,
        dropout: float = 0.1,
        shortest: float = 0.01,
        longest: float = 100.0,
    ) -> None:
        H = check_size("hidden_size", hidden_size)
        super().__init__(input_size, H)
        heads = math.gcd(4, H) if heads is None else check_size("heads", heads)
        if H % heads:
            raise ValueError(f"`hidden_size` must be a multiple of `heads`; got {H} and {heads}")
        if H % 2:
            raise ValueError(f"`hidden_size` must be even, for sines and cosines of the time; got {H}")
        self.embed = nn.Linear(self.input_size, H)
        self.encoding = TimeEncoding(H, shortest, longest)
        self.blocks = nn.ModuleList(
            _Block(H, heads, check_rate("dropout", dropout)) for _ in range(check_size("num_layers", num_layers))
        )

    def run(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return (B, T, H); padding comes after every sample, so that no sample attends to it."""
        z = self.embed(batch.x) + self.encoding(batch.times)
        for block in self.blocks:
            z = block(z)
        return z, None


class _Block(nn.Module):
    def __init__(self, H: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.project, self.join = nn.Linear(H, 3 * H), nn.Linear(H, H)
        self.inner, self.outer = nn.Linear(H, 4 * H), nn.Linear(4 * H, H)
        self.first, self.second = nn.LayerNorm(H), nn.LayerNorm(H)
        self.dropout = Dropout(dropout)

    def forward(self, z: Tensor) -> Tensor:
        B, T, H = z.shape
        parts = self.project(z).reshape(B, T, 3, self.heads, H // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # each (B, heads, T, H / heads)
        seen = scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).reshape(B, T, H)
        z = self.first(z + self.dropout(self.join(seen)))
        out: Tensor = self.second(z + self.dropout(self.outer(torch.relu(self.inner(z)))))
        return out
