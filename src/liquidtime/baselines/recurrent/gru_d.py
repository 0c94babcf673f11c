from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from liquidtime._checks import check_choice, check_size, named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.decay import InputDecay
from liquidtime.cells.cell import Cell


class GRUDCell(Cell):
    """GRU-D: a gated recurrent unit for missing values, with inputs and a state that decay.

        x̂ as in `InputDecay`;   h̄ = h·exp(-max(0, W_γ δ + b_γ))
        z, r = σ(W [x̂ ; m] + U h̄ + b);   n = tanh(W_n [x̂ ; m] + U_n (r·h̄) + b_n);   h' = (1 - z)·h̄ + z·n

    δ is the time since each value was last observed. Without `masks` every value counts as observed: x̂ = x and δ = dt.
    The state is (h, last - mean, δ), or only h without masks.

    Args:
        input_size: D: K values, their masks, and columns that are always observed.
        hidden_size: H.
        masks: (K,) the column with the mask of each value; the values are the first K columns. None if all is observed.
        mean: (K,) value towards which values decay; None for 0.
        mix: "decayed": the new state mixes n with the decayed state h̄, as in the paper. "undecayed": with h, as in the
            code of the authors, h' = (1 - z)·h + z·n.

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        masks: Sequence[int] | None = None,
        mean: Tensor | Sequence[float] | None = None,
        mix: str = "decayed",
    ) -> None:
        super().__init__()
        check_choice("mix", mix, ("decayed", "undecayed"))
        self.mix = mix
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        if masks is None and mean is not None:
            raise ValueError("`mean` is used only for values that have a mask; pass `masks` too")
        self.imputed = None if masks is None else InputDecay(D, masks, mean)
        K = 0 if self.imputed is None else self.imputed.size
        self.input_size, self.output_size = D, H
        self.state_sizes = (H,) if K == 0 else (H, K, K)
        self.state_decay = nn.Linear(max(K, 1), H)
        self.input_map = nn.Linear(D, 3 * H)
        self.gate_map = nn.Linear(H, 2 * H, bias=False)
        self.candidate_map = nn.Linear(H, H, bias=False)
        nn.init.uniform_(self.state_decay.weight, 0.0, 1.0 / max(K, 1))
        nn.init.zeros_(self.state_decay.bias)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.gate_map.weight)
        nn.init.orthogonal_(self.candidate_map.weight)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H), (B, K), (B, K)) or ((B, H),), dt (B,)."""
        h, *carried = state
        delta = dt.unsqueeze(-1)
        if self.imputed is not None:
            filled, delta, *carried = self.imputed(x, *carried, dt)
            x = torch.cat([filled, x[..., self.imputed.size :]], dim=-1)
        undecayed = h
        h = h * torch.exp(-torch.relu(self.state_decay(delta))).to(h.dtype)
        gates, candidate = self.input_map(x).split([2 * self.hidden_size, self.hidden_size], dim=-1)
        z, r = torch.sigmoid((gates + self.gate_map(h)).to(h.dtype)).chunk(2, dim=-1)
        n = torch.tanh((candidate + self.candidate_map(r * h)).to(h.dtype))
        h = (1 - z) * (h if self.mix == "decayed" else undecayed) + z * n
        return h, (h, *carried)
