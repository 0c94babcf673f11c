"""The paper's lane-keeping network: the order of every solver, and who is nearest to the equation at which interval."""

import functools

import numpy as np
import pytest
import torch

import liquidtime as lt
from liquidtime.closed_form import AlgorithmOne
from liquidtime.solvers import RK4, SOLVERS, Hold, Midpoint
from oracles.slopes import order

INPUTS, NEURONS, SYNAPSES = 64, 19, 253
WIRING = lt.wirings.NCP(12, 6, 1, sensory_fanout=3, inter_fanout=4, recurrent_command_synapses=7, motor_fanin=6)
TIME_CONSTANTS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
B = 8


@functools.cache
def network(seed):
    """Return a cell's right-hand side at a new input, and states on its trajectory: B series, 5 inputs from 0."""
    torch.manual_seed(seed)
    cell = lt.cells.LTCCell(INPUTS, wiring=WIRING).double()
    with torch.no_grad():
        v = torch.zeros(B, NEURONS, dtype=torch.float64)
        for _ in range(5):
            drive = cell.drive(torch.randn(B, INPUTS, dtype=torch.float64))
            v = RK4().integrate(drive, v, torch.ones(B, 1, dtype=torch.float64), 24)
        drive = cell.drive(torch.randn(B, INPUTS, dtype=torch.float64))
        time_constant = float((1 / drive(v)[0]).median())  # over neurons and series
    return drive, v, time_constant


def test_the_network_is_the_papers():
    graph = WIRING.build(INPUTS)
    assert graph.units == NEURONS
    assert np.count_nonzero(graph.adjacency) + np.count_nonzero(graph.sensory) == SYNAPSES


@pytest.mark.parametrize("solver", [*SOLVERS.values(), AlgorithmOne()], ids=[*SOLVERS, "paper"])
def test_order_at_a_fixed_time(solver):
    """Order 0, the paper's, means that shorter steps do not help."""
    drive, v, time_constant = network(0)
    end = torch.full((B, 1), 2 * time_constant, dtype=torch.float64)
    unfolds = (32, 64, 128)
    with torch.no_grad():
        exact = RK4().integrate(drive, v, end, 384)
        errors = [float((solver.integrate(drive, v, end, n) - exact).square().mean().sqrt()) for n in unfolds]
    assert order(1 / np.array(unfolds), errors) == pytest.approx(solver.order, abs=0.15)


@pytest.mark.parametrize("seed", range(4))
def test_hold_is_nearer_than_the_paper_and_midpoint_than_hold_at_every_interval(seed):
    drive, v, time_constant = network(seed)
    methods = {
        "printed": AlgorithmOne(repaired=False),
        "repaired": AlgorithmOne(repaired=True),
        "hold": Hold(),
        "midpoint": Midpoint(),
    }
    for interval in TIME_CONSTANTS:
        dt = torch.full((B, 1), interval * time_constant, dtype=torch.float64)
        with torch.no_grad():
            exact = RK4().integrate(drive, v, dt, 64)
            mse = {name: float((s.integrate(drive, v, dt, 1) - exact).square().mean()) for name, s in methods.items()}
        assert mse["midpoint"] < mse["hold"] < mse["repaired"] < mse["printed"], (interval, mse)
