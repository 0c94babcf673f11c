from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from liquidtime._checks import named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.hippo import HiPPOCell


class HiPPOLegSCell(HiPPOCell):
    """A gated network with a memory of one signal since the start, without a time scale of its own (HiPPO-LegS).

        c_n = ∫ f(t·u)·p_n(u) du over 0 <= u <= 1,   t·dc/dt = -A c + B f,   A_nk = √(2n+1)·√(2k+1) for n > k,
        n + 1 for n = k, else 0;   B_n = √(2n+1)

    p_n are the Legendre polynomials on [0, 1] with norm 1. In the logarithm of time the equation does not depend on
    time, and its exact step from t to t' with f held is E = (t/t')^A, which only means that the old function now fills
    the fraction r = t/t' of the history: E_nk = r ∫ p_n(r·u)·p_k(u) du. N Gauss nodes give this integral exactly; no
    matrix is inverted, and the ill-conditioned eigenvectors of A are not used. The first sample fills the whole
    history.

    The state is (h, c, t), where t (B, 1) is the time since the start. The network around the memory is that of
    `HiPPOCell`.

    Args:
        input_size: D.
        hidden_size: H.
        order: N, the number of coefficients; None for H.
        discretisation: "exact"; "bilinear" as in the code of the authors, with δ = t'/t - 1; or "stamped" as in their
            code for time stamps: bilinear with δ = 1 - t/t', and a first step from 0 with δ = 1.
        memory_first: whether the memory is updated before the hidden state, as in that code.

    """

    discretisations = (*HiPPOCell.discretisations, "stamped")

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        order: int | None = None,
        discretisation: str = "exact",
        memory_first: bool = False,
    ) -> None:
        super().__init__(input_size, hidden_size, order, discretisation, memory_first)
        self.state_sizes = (*self.state_sizes, 1)
        points, weights = np.polynomial.legendre.leggauss(self.order)
        self.nodes = tuple((points / 2 + 0.5).tolist())
        self.node_weights = tuple((weights / 2).tolist())

    def spans(self, state: State, dt: Tensor) -> Tensor:
        """Return the fraction t/t' (B, T) of the history that is past at each step."""
        start = state[-1].double().clamp(min=0)
        end = start + dt.double().cumsum(dim=1)  # (B, T)
        begin = torch.cat([start, end[:, :-1]], dim=1)
        return begin / end.where(end > 0, 1.0)

    def matrix(self) -> Tensor:
        """Return A (N, N), with the sign of dc/d(ln t) = A c + B f."""
        n = torch.arange(self.order, dtype=torch.float64)
        roots = (2 * n + 1).sqrt()
        return -torch.tril(roots.unsqueeze(1) * roots, diagonal=-1) - torch.diag(n + 1)

    def transition(self, span: Tensor) -> Tensor:
        """Return r^A (..., N, N) for fractions r = span (...)."""
        r = span.double()
        if self.discretisation == "stamped":
            return self.bilinear(1.0 - r)
        if self.discretisation == "bilinear":
            E = self.bilinear(1.0 / r.where(r > 0, 1.0) - 1.0)
            return E * (r > 0)[..., None, None]
        u = torch.tensor(self.nodes, dtype=r.dtype, device=r.device)
        w = torch.tensor(self.node_weights, dtype=r.dtype, device=r.device)
        old = legendre(u, self.order) * w.unsqueeze(-1)  # (N, N) nodes by k
        new = legendre(r.unsqueeze(-1) * u, self.order)  # (..., N, N) nodes by n
        return r[..., None, None] * (new.mT @ old)

    def move(self, projected: Tensor, state: State, dt: Tensor, E: Tensor) -> tuple[Tensor, State]:
        """Take one step with the matrix E of the memory: state (h (B, H), c (B, N), t (B, 1))."""
        h, after = super().move(projected, state, dt, E)
        return h, (*after, state[-1].clamp(min=0) + dt.unsqueeze(1))


def legendre(u: Tensor, order: int) -> Tensor:
    """Return the first Legendre polynomials on [0, 1], of norm 1, at u (...), as (..., order)."""
    z = 2 * u - 1
    values = [torch.ones_like(z), z][:order]
    for n in range(2, order):
        values.append(((2 * n - 1) * z * values[-1] - (n - 1) * values[-2]) / n)
    norms = torch.arange(order, dtype=u.dtype, device=u.device).mul(2).add(1).sqrt()
    return torch.stack(values, dim=-1) * norms
