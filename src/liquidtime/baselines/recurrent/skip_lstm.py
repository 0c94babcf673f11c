from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell
from liquidtime.cells.lstm import LSTMCell


class SkipLSTMCell(HoistedCell):
    """An LSTM that learns which samples to skip (Campos, Jou, Giró-i-Nieto, Torres and Chang 2018).

        u = 1 if p >= 0.5, else 0;   (h', m') = u·LSTM(x, (h, m)) + (1 - u)·(h, m)
        d = σ(w·m' + b);   p' = u·d + (1 - u)·(p + min(d, 1 - p))

    When a sample is skipped, the state is copied and p, the accumulated update probability, grows by the same d until
    it rounds to 1. The gradient ignores the rounding (the straight-through estimate), so it is not the derivative of
    the output. The cell ignores time. The state is (h, m, p), where p (B, 1) starts at 1: the first sample is never
    skipped. b starts at 1.

    Args:
        input_size: D.
        hidden_size: H.
        forget_bias: forget bias of the LSTM.

    """

    uses_dt: ClassVar[bool] = False

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int, *, forget_bias: float = 1.0) -> None:
        super().__init__()
        H = check_size("hidden_size", hidden_size)
        self.lstm = LSTMCell(input_size, H, forget_bias=forget_bias)
        self.wish = nn.Linear(H, 1)
        self.input_size, self.output_size, self.state_sizes = self.lstm.input_size, H, (H, H, 1)
        nn.init.xavier_uniform_(self.wish.weight)
        nn.init.ones_(self.wish.bias)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the gates of the LSTM that depends on the input, (..., 4H)."""
        return self.lstm.project(x, dt)

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 4H), state (h (B, H), m (B, H), p (B, 1)); dt is ignored."""
        h, m, p = state
        u = straight_through(p)
        _, (h_new, m_new) = self.lstm.advance(projected, (h, m), dt)
        h = u * h_new + (1 - u) * h
        m = u * m_new + (1 - u) * m
        d = torch.sigmoid(self.wish(m).to(m.dtype))
        p = u * d + (1 - u) * (p + torch.minimum(d, 1 - p))
        return h, (h, m, p)

    def initial_state(self, x: Tensor) -> State:
        """Return the state before the first sample, for a batch x (B, ...): h and m are 0, p is 1."""
        h, m, p = super().initial_state(x)
        return h, m, p + 1

    def updates(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return u (B, T): 1 where a sample is used, 0 where it is skipped or past the end of a row.

        Its weighted sum is the budget of the paper, which can be added to a training loss; arguments as in `scan`.
        """
        taken = []
        for k in range(x.shape[1]):
            u = straight_through(state[2])
            _, after = self(x[:, k], state, dt[:, k])
            inside = torch.ones_like(u, dtype=torch.bool) if lengths is None else (lengths > k).unsqueeze(1)
            taken.append(u.masked_fill(~inside, 0.0))
            state = tuple(torch.where(inside, new, old) for new, old in zip(after, state, strict=True))
        return torch.cat(taken, dim=1) if taken else x.new_zeros(x.shape[0], 0)


def straight_through(p: Tensor) -> Tensor:
    """Return 1 where p >= 0.5 and 0 elsewhere, with the gradient of p."""
    return (p >= 0.5).to(p.dtype) + (p - p.detach())
