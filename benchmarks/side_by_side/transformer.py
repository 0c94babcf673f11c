"""A causal Transformer that takes one sample at a time, its keys and values kept; that in `baselines` cannot."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Cache = tuple[Tensor, Tensor]


class CausalTransformer(nn.Module):
    """One layer of `nn.TransformerEncoder` in which each sample sees itself and those before it.

    Args:
        input_size: D.
        width: H, in four heads where it divides by four; the inner layer has 4H units.

    """

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        heads = 4 if width % 4 == 0 else 1
        self.embed = nn.Linear(input_size, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, H) from x (B, T, D)."""
        T = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(T, device=x.device, dtype=x.dtype)
        y: Tensor = self.encoder(self.embed(x), mask=mask, is_causal=True)
        return y

    def begin(self, x: Tensor) -> Cache:
        """Return the keys and values (B, heads, T, H/heads) of the samples x (B, T, D)."""
        _, key, value = self._project(self.embed(x))
        return key, value

    def step(self, x: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """Return the output (B, H) at one more sample x (B, D), and the keys and values with it."""
        z = self.embed(x).unsqueeze(1)  # (B, 1, H)
        query, key, value = self._project(z)
        key, value = torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)
        seen = F.scaled_dot_product_attention(query, key, value)  # (B, heads, 1, H/heads)
        block = self._block()
        z = block.norm1(z + block.self_attn.out_proj(seen.transpose(1, 2).flatten(2)))
        z = block.norm2(z + block.linear2(F.relu(block.linear1(z))))
        return z[:, 0], (key, value)

    def _block(self) -> nn.TransformerEncoderLayer:
        block = self.encoder.layers[0]
        assert isinstance(block, nn.TransformerEncoderLayer)
        return block

    def _project(self, z: Tensor) -> list[Tensor]:
        """Return query, key and value (B, heads, T, H/heads) of z (B, T, H)."""
        attention = self._block().self_attn
        assert attention.in_proj_weight is not None
        parts = F.linear(z, attention.in_proj_weight, attention.in_proj_bias).chunk(3, dim=-1)
        return [part.reshape(*z.shape[:2], self.heads, -1).transpose(1, 2) for part in parts]
