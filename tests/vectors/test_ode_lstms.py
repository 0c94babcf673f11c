"""The cells of the ODE-LSTM work's code, from which the paper quotes: `baselines.recurrent.quoted`, and three more."""

import pytest
import torch

from liquidtime.baselines import recurrent
from liquidtime.baselines.recurrent import quoted
from vectors import blocks, close, load, put, put_linear, run


def leaky(cell, numbers, prefix=""):
    put_linear(cell.input_map, numbers[f"{prefix}W"].mT, numbers[f"{prefix}b"])
    put_linear(cell.recurrent_map, numbers[f"{prefix}R"].mT)
    put(cell.scale, numbers[f"{prefix}scale"])


def gates(cell, numbers, prefix=""):
    put_linear(cell.input_map, numbers[f"{prefix}W"].mT, numbers[f"{prefix}b"])
    put_linear(cell.recurrent_map, numbers[f"{prefix}R"].mT)


@pytest.mark.parametrize("solver", ["euler", "heun", "rk4"])
def test_ct_rnn(solver):
    numbers = load(f"ct_rnn_{solver}--ode-lstms")
    cell = quoted.QuotedCTRNNCell(3, 4, solver, unfolds=int(numbers["unfolds"])).double()
    leaky(cell, numbers)
    y, _ = run(cell, numbers)
    close(y, numbers["y"], single=True)


def test_bidirectional_rnn():
    numbers = load("bidirectional_rnn--ode-lstms")
    cell = quoted.QuotedBidirectionalRNNCell(3, 4).double()
    leaky(cell.leaky, numbers, "ctrnn_")
    gates(cell.lstm, numbers, "lstm_")
    y, (h, m, v) = run(cell, numbers)
    for part, name in ((y, "y"), (h, "h"), (m, "memory"), (v, "v")):
        close(part, numbers[name], single=True)


def test_ct_lstm():
    numbers = load("ct_lstm--ode-lstms")
    cell = quoted.QuotedCTLSTMCell(3, 4).double()
    gates(cell, numbers)
    y, (_, c, level) = run(cell, numbers)
    close(y, numbers["y"], single=True)
    close(c, numbers["c"], single=True)
    close(level, numbers["c_bar"], single=True)


@pytest.mark.parametrize("name", ["ct_gru", "ct_gru_tied"])
def test_ct_gru(name):
    numbers = load(f"{name}--ode-lstms")
    cell = quoted.QuotedCTGRUCell(3, 4).double()
    for layer, key in ((cell.read_map, "read"), (cell.write_map, "write"), (cell.candidate_map, "candidate")):
        put_linear(layer, numbers[f"{key}_W"].mT, numbers[f"{key}_b"])
    y, (traces,) = run(cell, numbers)
    close(y, numbers["y"], single=True)
    close(traces.unflatten(-1, (4, 8)), numbers["traces"], single=True)


def test_rnn_decay():
    numbers = load("rnn_decay--ode-lstms")
    cell = quoted.QuotedRNNDecayCell(3, 4).double()
    put_linear(cell.inner_map, numbers["inner_W"].mT, numbers["inner_b"])
    put_linear(cell.outer_map, numbers["outer_W"].mT, numbers["outer_b"])
    put(cell.drift, numbers["tau"])
    y, _ = run(cell, numbers)
    close(y, numbers["y"], single=True)


def test_phased_lstm():
    numbers = load("phased_lstm--ode-lstms")
    cell = quoted.QuotedPhasedLSTMCell(3, 4).double()
    gates(cell, numbers)
    for target, key in ((cell.raw_period, "tau"), (cell.raw_open_ratio, "r"), (cell.raw_shift, "s")):
        put(target, numbers[f"{key}_raw"])
    y, (_, m) = run(cell, numbers)
    close(y, numbers["y"], single=True)
    close(m, numbers["memory"], single=True)


def test_ode_lstm_of_its_tensorflow_code():
    numbers = load("ode_lstm--ode-lstms-tf")
    cell = quoted.QuotedODELSTMCell(3, 4, unfolds=int(numbers["unfolds"])).double()
    assert cell.lstm.forget_bias == float(numbers["forget_bias"])
    gates(cell.lstm, numbers)
    leaky(cell.leaky, numbers, "ctrnn_")
    y, (_, m) = run(cell, numbers)
    close(y, numbers["y"], single=True)
    close(m, numbers["memory"], single=True)


@pytest.mark.parametrize("solver", ["euler", "heun", "rk4"])
def test_ode_lstm_of_its_torch_code(solver):
    numbers = load(f"ode_lstm_{solver}--ode-lstms-torch")
    cell = recurrent.ODELSTMCell(3, 4, solver=solver, unfolds=int(numbers["unfolds"]), forget_bias=0.0).double()
    order = (2, 0, 1, 3)  # input, forget, candidate, output -> candidate, input, forget, output
    bias = blocks(numbers["b"] + numbers["b_R"], order)
    put_linear(cell.input_map, blocks(numbers["W"], order), bias)
    put_linear(cell.recurrent_map, blocks(numbers["R"], order))
    put_linear(cell.field.hidden, numbers["field1_W"], numbers["field1_b"])
    put_linear(cell.field.out, numbers["field2_W"], numbers["field2_b"])
    y, (_, m) = run(cell, numbers)
    close(y, numbers["h"], single=False)
    close(m, numbers["memory"], single=False)


def test_gru_ode():
    numbers = load("gru_ode--ode-lstms")
    cell = quoted.QuotedGRUODECell(3, 4, unfolds=int(numbers["unfolds"])).double()
    both = [torch.cat([numbers[f"r_{part}"], numbers[f"z_{part}"]], dim=-1) for part in "Wb"]
    put_linear(cell.gate_map, both[0].mT, both[1])
    put_linear(cell.candidate_map, numbers["n_W"].mT, numbers["n_b"])
    y, _ = run(cell, numbers)
    close(y, numbers["y"], single=True)


def test_gru_d_without_masks():
    numbers = load("gru_d--ode-lstms")
    cell = recurrent.GRUDCell(3, 4).double()
    from_x = [numbers[f"{gate}_W"][:3].mT for gate in "zrn"]
    put_linear(
        cell.input_map,
        torch.cat([-from_x[0], *from_x[1:]]),
        torch.cat([-numbers["z_b"], numbers["r_b"], numbers["n_b"]]),
    )
    put_linear(cell.gate_map, torch.cat([-numbers["z_W"][3:].mT, numbers["r_W"][3:].mT]))
    put_linear(cell.candidate_map, numbers["n_W"][3:].mT)
    put_linear(cell.state_decay, numbers["decay_W"].mT, numbers["decay_b"])
    y, _ = run(cell, numbers)
    close(y, numbers["y"], single=True)


def test_augmented_lstm():
    numbers = load("augmented_lstm--ode-lstms")
    cell = recurrent.AugmentedLSTMCell(3, 4, forget_bias=float(numbers["forget_bias"])).double()
    gates(cell, numbers)
    y, (_, m) = run(cell, numbers)
    close(y, numbers["y"], single=True)
    close(m, numbers["memory"], single=True)
