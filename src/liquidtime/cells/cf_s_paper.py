from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import check_choice
from liquidtime.cells.headed import HeadedCell

AMPLITUDES = ("free", "state")


class CfSPaperCell(HeadedCell):
    """The closed-form solution as the paper's equation states it.

        h' = B·exp(-(wτ + f(h, x))·dt)·f(-h, -x) + A,   f = σ(W backbone([x ; h]) + c) in (0, 1)

    wτ is kept positive by softplus, as the lemma requires. The same network is evaluated twice, the second time with
    negated arguments. In training, each of the two passes draws its own backbone dropout.

    Both sigmoids are flat, with a slope of at most a quarter, so the effect of a sample on the state fades within a few
    samples. If it has to last longer, start with larger weights: `init_gain=3`.

    Args:
        input_size: D.
        hidden_size: H.
        amplitude: B: "free", a learned vector, or "state", h - A as in the theorem.
        **options: options of the backbone and the head, see `HeadedCell`.

    """

    kind: ClassVar[str] = "cf_s_paper"

    def __init__(self, input_size: int, hidden_size: int, *, amplitude: str = "free", **options: Any) -> None:
        super().__init__(input_size, hidden_size, 1, **options)
        check_choice("amplitude", amplitude, AMPLITUDES)
        self.amplitude = amplitude
        self.A = nn.Parameter(torch.ones(self.hidden_size))
        self.w_tau = nn.Parameter(torch.zeros(self.hidden_size))
        self.B = nn.Parameter(-torch.ones(self.hidden_size)) if amplitude == "free" else None

    def combine(self, x: Tensor, h: Tensor, dt: Tensor) -> Tensor:
        """Return the new hidden state (B, H)."""
        (f,) = self.head_values(x, h)
        (f_negated,) = self.head_values(-x, -h)
        B = h - self.A if self.B is None else self.B
        decay = torch.exp(-dt * (F.softplus(self.w_tau) + torch.sigmoid(f)))
        return B * decay * torch.sigmoid(f_negated) + self.A

    def form_options(self) -> dict[str, Any]:
        """Return the number of heads and the choice of B."""
        return {"heads": 1, "state_amplitude": self.B is None}

    def form_vectors(self) -> list[Tensor]:
        """Return A, softplus(wτ) and, if it is learned, B."""
        return [self.A, F.softplus(self.w_tau)] + ([] if self.B is None else [self.B])
