"""Cells with fixed memories and with oscillators or orthogonal matrices beside their authors' code."""

import pytest
import torch

from liquidtime.baselines import recurrent
from vectors import close, load, put, put_linear, run

CLASSES = {"legs": recurrent.HiPPOLegSCell, "tlagt": recurrent.HiPPOLagTCell, "lagt": recurrent.HiPPOLagTCell}


def hippo(kind, numbers, discretisation):
    options = {} if kind == "legs" else {"theta": 1.0 / float(numbers["step"]), "tilt": float(kind == "tlagt")}
    cell = CLASSES[kind](3, 4, order=5, discretisation=discretisation, memory_first=True, **options).double()
    gate, candidate = (torch.cat([numbers["gate_W"], numbers["hidden_W"]]), [numbers["gate_b"], numbers["hidden_b"]])
    put_linear(cell.input_map, gate[:, :3], torch.cat(candidate))
    put_linear(cell.recurrent_map, gate[:, 3:])
    put_linear(cell.signal, numbers["signal_W"], numbers["signal_b"])
    return cell


@pytest.mark.parametrize("discretisation", ["exact", "bilinear"])
@pytest.mark.parametrize("kind", CLASSES)
def test_hippo(kind, discretisation):
    """The whole network, the memory before the state as there; one sample is one unit of time."""
    numbers = load(f"hippo_{kind}_{'zoh' if discretisation == 'exact' else 'bilinear'}--hippo-code")
    y, states = run(hippo(kind, numbers, discretisation), numbers)
    torch.testing.assert_close(states[1], numbers["memory"], rtol=0.0, atol=1e-11)
    torch.testing.assert_close(y, numbers["h"], rtol=0.0, atol=1e-11)


@pytest.mark.parametrize(("kind", "discretisation"), [("legs", "stamped"), ("tlagt", "bilinear")])
def test_hippo_with_time_stamps(kind, discretisation):
    numbers = load(f"hippo_{kind}_times_bilinear--hippo-code")
    y, states = run(hippo(kind, numbers, discretisation), numbers)
    close(states[1], numbers["memory"], single=False)
    close(y, numbers["h"], single=False)


def test_cornn():
    numbers = load("cornn--cornn")
    options = {name: float(numbers[name]) for name in ("step", "frequency", "damping")}
    cell = recurrent.CoRNNCell(3, 4, implicit=False, **options).double()
    put_linear(cell.input_map, numbers["W"], numbers["b"])
    put_linear(cell.recurrent_map, torch.cat(numbers["R"].chunk(2, dim=1)[::-1], dim=1))
    y, _ = run(cell, numbers)
    close(y, numbers["y"], single=False)


def test_lipschitz_rnn():
    numbers = load("lipschitz_rnn--lipschitzrnn")
    options = {name: float(numbers[name]) for name in ("step", "beta", "gamma")}
    cell = recurrent.LipschitzRNNCell(3, 4, **options).double()
    put(cell.free, torch.stack([numbers["M_A"].mT, numbers["M_W"].mT]))
    put_linear(cell.input_map, numbers["W"], numbers["b"])
    y, _ = run(cell, numbers)
    close(y, numbers["h"], single=False)


def test_lmu():
    """The source rounds its matrices to float32."""
    numbers = load("lmu--pytorch-lmu")
    cell = recurrent.LMUCell(3, 4, order=5, theta=float(numbers["theta"])).double()
    put_linear(cell.input_map, torch.cat([numbers["e_x"], numbers["W_x"]]))
    put_linear(cell.state_map, torch.cat([numbers["e_h"], numbers["e_m"]], dim=1))
    put_linear(cell.recurrent_map, torch.cat([numbers["W_h"], numbers["W_m"]], dim=1))
    y, (_, m) = run(cell, numbers)
    torch.testing.assert_close(y, numbers["h"], rtol=0.0, atol=1e-6)
    torch.testing.assert_close(m, numbers["memory"], rtol=0.0, atol=1e-6)


def test_exp_rnn():
    numbers = load("exp_rnn--exprnn")
    cell = recurrent.ExpRNNCell(3, 4).double()
    put_linear(cell.input_map, numbers["W"])
    put(cell.bias, numbers["b"])
    put(cell.recurrent_map.parametrizations.weight.original, torch.triu(numbers["S"], 1).mT)
    torch.testing.assert_close(cell.recurrent_map.weight.detach(), numbers["R"].mT, rtol=0.0, atol=1e-12)
    y, _ = run(cell, numbers)
    torch.testing.assert_close(y, numbers["h"], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["", "small_"])
def test_the_flow_of_gru_ode(kind):
    numbers = load(f"gru_ode_{kind}flow--gru_ode_bayes")
    cell = recurrent.GRUODECell(3, 4, solver="euler", unfolds=1).double()
    put_linear(cell.gate_map, torch.cat([numbers["U_z"], numbers.get("U_r", numbers["U_z"])]), torch.zeros(8).double())
    put_linear(cell.candidate_map, numbers["U_n"], torch.zeros(4).double())
    with torch.no_grad():
        rate, push = cell.drive(numbers["h0"])
        close(push - rate * numbers["h0"], numbers["slope"], single=False)
        h, step = numbers["h_euler"][:, 0], torch.full((3, 1), float(numbers["step"]), dtype=torch.float64)
        for k in range(1, 8):
            h = cell.solver.integrate(cell.drive, h, step, 1)
            close(h, numbers["h_euler"][:, k], single=False)
