from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size, named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.polynomial_memory import PolynomialMemoryCell


class LMUCell(PolynomialMemoryCell):
    """The Legendre memory unit of Voelker, Kajić and Eliasmith (2019): a network with a window of one signal.

        u = e_x·x + e_h·h + e_c·c;   θ·dc/dt = A c + B u;   h' = tanh(W_x x + W_h h + W_c c')
        A_nk = (2n+1)·(-1 for n < k, else (-1)^(n-k+1));   B_n = (2n+1)·(-1)^n

    c represents the last θ of u by Legendre polynomials: u(t - θv) ≈ Σ c_n P_n(2v - 1) (Padé's approximation of a
    delay). With u held over the interval the step is exact: E = exp(A dt/θ). The eigenvectors of A cannot be used
    (their condition number is above 1e15 at N = 32), so E is the matrix exponential of torch, computed once for each
    different interval of a batch. No map has a bias, and e_c starts at 0, as in the paper. The state is (h, c).

    Args:
        input_size: D.
        hidden_size: H.
        order: N, the number of coefficients; None for H.
        theta: θ, the length of the window, in the unit of dt.

    """

    A: Tensor

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int, *, order: int | None = None, theta: float = 100.0) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        N = H if order is None else check_size("order", order)
        self.order, self.theta = N, check_positive("theta", theta)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, N)
        self.input_map = nn.Linear(D, 1 + H, bias=False)  # e_x, W_x
        self.state_map = nn.Linear(H + N, 1, bias=False)  # e_h, e_c
        self.recurrent_map = nn.Linear(H + N, H, bias=False)  # W_h, W_c
        nn.init.uniform_(self.input_map.weight[:1], -((3 / D) ** 0.5), (3 / D) ** 0.5)
        nn.init.xavier_normal_(self.input_map.weight[1:])
        nn.init.uniform_(self.state_map.weight[:, :H], -((3 / H) ** 0.5), (3 / H) ** 0.5)
        nn.init.zeros_(self.state_map.weight[:, H:])
        nn.init.xavier_normal_(self.recurrent_map.weight[:, :H])
        nn.init.xavier_normal_(self.recurrent_map.weight[:, H:])
        self.register_buffer("A", delay_matrix(N), persistent=False)

    def spans(self, state: State, dt: Tensor) -> Tensor:
        """Return dt / θ (B, T)."""
        return dt / self.theta

    def transition(self, span: Tensor) -> Tensor:
        """Return exp(s A) (..., N, N) for s = span (...)."""
        E: Tensor = torch.linalg.matrix_exp(span.double()[..., None, None] * self.A.double())
        return E

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of signal and state that depends on the input, (..., 1 + H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def move(self, projected: Tensor, state: State, dt: Tensor, E: Tensor) -> tuple[Tensor, State]:
        """Take one step with the matrix E of the memory: projected (B, 1 + H), state (h (B, H), c (B, N))."""
        h, c = state
        before = self.state_map(torch.cat([h, c], dim=-1))
        c = self.remember(c, (projected[:, :1] + before).to(h.dtype), E)
        h = torch.tanh((projected[:, 1:] + self.recurrent_map(torch.cat([h, c], dim=-1))).to(h.dtype))
        return h, (h, c)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"order={self.order}, theta={self.theta:g}"


def delay_matrix(order: int) -> Tensor:
    """Return A (N, N), whose entries are whole numbers."""
    n = torch.arange(order)
    gap = n.unsqueeze(1) - n
    sign = torch.where(gap < 0, -1, 1 - 2 * ((gap + 1) % 2))
    return ((2 * n.unsqueeze(1) + 1) * sign).to(torch.get_default_dtype())
