from __future__ import annotations

import math

import torch
from torch import Tensor

from liquidtime._checks import check_positive, named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.hippo import HiPPOCell


class HiPPOLagTCell(HiPPOCell):
    """A gated network that remembers an exponentially fading window of one signal (HiPPO-LagT).

        c_n = ∫ f(t - θu)·exp(-u)·L_n(u) du over u >= 0,   θ·dc/dt = -A c + B f,   A_nk = 1 for n >= k, else 0;  B_n = 1

    L_n are the Laguerre polynomials. A is the inverse of (identity - shift), so exp(-s A), s = dt/θ, has the same
    number a_{n-k} in each diagonal, and Σ a_n z^n = exp(-s/(1 - z)): a_n = exp(-s)·L_n^(-1)(s). No matrix is inverted.
    With a tilt β other than 1 the diagonal is (1 + β)/2, so that the window fades more slowly than the polynomials are
    weighted; "lagt" in the code of the authors is β = 0. The network around the memory is that of `HiPPOCell`.

    Args:
        input_size: D.
        hidden_size: H.
        order: N, the number of coefficients; None for H.
        theta: θ, the time in which the window fades by a factor of e, in the unit of dt.
        tilt: β, greater than -1; 1 is the measure described above.
        discretisation: "exact", or "bilinear" as in the code of the authors.
        memory_first: whether the memory is updated before the hidden state, as in that code.

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        order: int | None = None,
        theta: float = 100.0,
        tilt: float = 1.0,
        discretisation: str = "exact",
        memory_first: bool = False,
    ) -> None:
        super().__init__(input_size, hidden_size, order, discretisation, memory_first)
        self.theta = check_positive("theta", theta)
        if not -1.0 < tilt < math.inf:
            raise ValueError(f"`tilt` must be finite and greater than -1, where memory would not fade; got {tilt!r}")
        self.tilt = float(tilt)

    def spans(self, state: State, dt: Tensor) -> Tensor:
        """Return dt / θ (B, T)."""
        return dt / self.theta

    def matrix(self) -> Tensor:
        """Return A (N, N), with the sign of dc/ds = A c + B f."""
        below = torch.tril(torch.ones(self.order, self.order, dtype=torch.float64), diagonal=-1)
        return -below - (1.0 + self.tilt) / 2 * torch.eye(self.order, dtype=torch.float64)

    def rest(self, f: Tensor) -> Tensor:
        """Return the value at which the memory of a constant signal f (B, 1) rests, (B, N): -A⁻¹B f."""
        if self.tilt == 1.0:
            return super().rest(f)
        ratio = (self.tilt - 1.0) / (self.tilt + 1.0)
        powers = ratio ** torch.arange(self.order, dtype=torch.float64, device=f.device)
        return f * (powers * 2.0 / (1.0 + self.tilt)).to(f.dtype)

    def transition(self, span: Tensor) -> Tensor:
        """Return exp(-s A) (..., N, N) for s = span (...)."""
        s = span.double()
        if self.discretisation == "bilinear":
            return self.bilinear(s)
        diagonals = [torch.exp(-s), -s * torch.exp(-s)][: self.order]
        for n in range(2, self.order):
            diagonals.append(((2 * n - 2 - s) * diagonals[-1] - (n - 2) * diagonals[-2]) / n)
        column = torch.stack(diagonals, dim=-1) * torch.exp((1.0 - self.tilt) / 2 * s).unsqueeze(-1)  # (..., N)
        index = torch.arange(self.order, device=s.device)
        below = index.unsqueeze(1) - index  # (N, N)
        E: Tensor = column[..., below.clamp(min=0)] * (below >= 0)
        return E

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"{super().extra_repr()}, theta={self.theta:g}, tilt={self.tilt:g}"
