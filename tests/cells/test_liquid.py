"""Equation 1 with any network: its solution for a known f, its limits, its refusals."""

import pytest
import torch
from torch import nn

from liquidtime import Recurrent
from liquidtime.cells import LiquidCell
from liquidtime.theory import printed


class InputAlone(nn.Module):
    """f(x, I) = σ(I), which one neuron's solution is known for."""

    def forward(self, z):
        return torch.sigmoid(z[:, :1])


@pytest.mark.parametrize(("solver", "atol"), [("hold", 1e-6), ("rk4", 1e-6), ("dopri5", 1e-3)])
@torch.no_grad()
def test_one_neuron_follows_the_printed_equation(solver, atol):
    cell = LiquidCell(1, 1, network=lambda width: InputAlone(), solver=solver, unfolds=64).double()
    nn.init.constant_(cell.A, 1.7)
    dt = torch.tensor([0.3, 2.0, 0.0, 5.0]).double()
    inputs = torch.tensor([2.0, -1.0, 4.0, 0.5]).double()
    state = (torch.tensor([[-1.0]]).double(),)
    x, w_tau = -1.0, float(cell.w_tau)
    for gap, value in zip(dt, inputs, strict=True):
        _, state = cell(value.reshape(1, 1), state, gap.reshape(1))
        x = float(printed(lambda s, v=float(value): v, float(gap), x, A=1.7, w_tau=w_tau))
        assert float(state[0]) == pytest.approx(x, abs=atol)


def test_the_state_stays_between_0_and_a():
    torch.manual_seed(0)
    rnn = Recurrent(lambda width: LiquidCell(width, 8), 3)
    y, _ = rnn(100 * torch.randn(4, 50, 3), dt=torch.rand(4, 50) * 100)
    assert (y >= 0).all()
    assert (y <= 1).all()


def test_any_network_learns():
    torch.manual_seed(0)
    make = lambda width: nn.Sequential(nn.Linear(width, 9), nn.GELU(), nn.Linear(9, 4), nn.Softplus())  # noqa: E731
    cell = LiquidCell(2, 4, network=make)
    x, dt = torch.randn(3, 6, 2), torch.rand(3, 6)
    y, _ = cell.scan(x, cell.initial_state(x), dt)
    y.square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().max() > 0 for parameter in cell.parameters())


def test_what_is_refused():
    with pytest.raises(TypeError, match="`network` must be a function that makes a module"):
        LiquidCell(2, 4, network=nn.Linear(6, 4))
    with pytest.raises(ValueError, match=r"outputs \(B, H\) = \(B, 4\); got \(B, 5\)"):
        LiquidCell(2, 4, network=lambda width: nn.Linear(width, 5))
