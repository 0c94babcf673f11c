"""An ODE-RNN in the plain form of its authors, on torchdiffeq: nothing of ours is in what ours is held against."""

from __future__ import annotations

import torch
from torch import Tensor, nn

RTOL = ATOL = 1e-3


class Field(nn.Module):
    """A vector field (B, H) -> (B, H) with one hidden layer of U units: f(h) = W2 tanh(W1 h + b1) + b2."""

    def __init__(self, H: int, U: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(H, U), nn.Tanh(), nn.Linear(U, H))

    def forward(self, h: Tensor) -> Tensor:
        """Return dh/dt (B, H)."""
        out: Tensor = self.net(h)
        return out


class ODERNN(nn.Module):
    """A GRU whose state follows dh/dt = f(h) between samples, solved by dopri5 with rtol = atol = 1e-3.

    A solver knows one time for the whole batch. So that every series has its own, each interval is rescaled to 0…1:

        dh/ds = dt·f(h),   s from 0 to 1;   h_k = GRU(x_k, h(1))

    Args:
        input_size: D.
        hidden_size: H.
        units: U, of the vector field.

    """

    span: Tensor

    def __init__(self, input_size: int, hidden_size: int, units: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.field = Field(hidden_size, units)
        self.cell = nn.GRUCell(input_size, hidden_size)
        self.register_buffer("span", torch.tensor([0.0, 1.0]))

    def step(self, x: Tensor, h: Tensor | None, dt: Tensor) -> Tensor:
        """Return the state (B, H) after a sample x (B, D) that comes dt (B,) after the one before."""
        from torchdiffeq import odeint

        if h is None:
            h = x.new_zeros(x.shape[0], self.hidden_size)
        scale = dt.unsqueeze(-1)
        h = odeint(lambda s, h: scale * self.field(h), h, self.span, rtol=RTOL, atol=ATOL, method="dopri5")[-1]
        out: Tensor = self.cell(x, h)
        return out

    def forward(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the states (B, T, H) after each of the samples x (B, T, D), dt (B, T) apart."""
        h, states = None, []
        for k in range(x.shape[1]):
            h = self.step(x[:, k], h, dt[:, k])
            states.append(h)
        return torch.stack(states, dim=1)
