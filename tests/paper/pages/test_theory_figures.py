"""What the figures of the theory draw is what their titles say."""

import pytest
import torch

from liquidtime.closed_form import AlgorithmOne
from liquidtime.layers import CfC
from liquidtime.paper.pages.figures import draw
from liquidtime.paper.pages.theory_figures import FINE, gate_curves, paths, two_neurons
from liquidtime.solvers import RK4


def test_two_neurons_have_five_synapses():
    cell = two_neurons()
    assert int(cell.sensory.mask.sum() + cell.recurrent.mask.sum()) == 5
    assert cell.hidden_size == 2


def test_the_curves_of_two_neurons_are_its_solution_and_come_closer_with_shorter_samples():
    cell = two_neurons()

    def apart(count):
        dt = torch.full((count,), 6.0 / count, dtype=torch.float64)
        x = torch.sin(dt.cumsum(0)).unsqueeze(-1)
        fine, finer = (paths(cell, RK4(), steps, x, dt) for steps in (FINE, 2 * FINE))
        assert (fine - finer).abs().max() < 1e-7
        closed = paths(cell, AlgorithmOne(repaired=True), 1, x, dt)
        return float((closed[-1] - fine[-1]).abs().max())

    assert apart(40) < 1.0


def test_gates_are_those_of_the_layer():
    torch.manual_seed(0)
    layer = CfC(2, 5, switch_times=(1.0, 3.0))
    x, h = torch.randn(1, 2), torch.randn(1, 5)
    s = gate_curves(layer.cells[0], x, h, torch.tensor([0.0, 2.0, 9.0]))
    assert s.shape == (3, 5)
    assert (s[2] > s[0]).all()
    g1, g2, gate = layer.cells[0].gates(x, h, torch.tensor([[2.0]]))
    torch.testing.assert_close(gate[0], s[1])
    torch.testing.assert_close(layer(x[None], h[None], dt=2.0)[0][0, 0], ((1 - gate) * g1 + gate * g2)[0])


@pytest.mark.parametrize("name", ["neuron", "two-neurons", "architecture"])
def test_drawn(name, tmp_path):
    assert draw(name, tmp_path).stat().st_size > 10_000
