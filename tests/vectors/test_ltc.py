"""The liquid network beside three public implementations."""

import pytest
import torch

from liquidtime import wirings
from liquidtime.cells import LTCCell
from vectors import close, load, put, run


def raw(value):
    """Return what softplus takes to a value above 0."""
    return value + torch.log(-torch.expm1(-value))


def filled(numbers, cell):
    """Return the cell with the weights of a file; conductances are given as they are used, after softplus if any."""
    cell = cell.double()
    for name, target in (("gleak", cell.leak), ("cm", cell.capacitance)):
        put(target, numbers.get(f"{name}_raw", raw(numbers[name])))
    put(cell.rest, numbers["vleak"])
    for prefix, synapses in (("", cell.recurrent), ("sensory_", cell.sensory)):
        for name in ("gamma", "mu", "E"):
            put(getattr(synapses, name), numbers[f"{prefix}{name}"])
        put(synapses.w, numbers.get(f"{prefix}w_raw", raw(numbers[f"{prefix}w"])))
        if f"{prefix}synapses" in numbers:
            mask = numbers[f"{prefix}synapses"].abs().double()
            synapses.load_state_dict(synapses.state_dict() | {"mask": mask})
    put(cell.input_weight, numbers["input_w"])
    put(cell.input_bias, numbers["input_b"])
    if "output_w" in numbers:
        put(cell.output_weight, numbers["output_w"])
        put(cell.output_bias, numbers["output_b"])
    return cell


@pytest.mark.parametrize(
    ("source", "added", "atol"), [("raminmh-tf", 0.001, 5e-6), ("raminmh-torch", 1.0, 2e-8), ("ncps", 0.0, 2e-8)]
)
def test_fully_connected(source, added, atol):
    """The paper's code adds a constant to every interval; given the same intervals the numbers are the same."""
    numbers = load(f"ltc--{source}")
    assert float(numbers.get("dt_added", 0.0)) == pytest.approx(added)
    cell = filled(numbers, LTCCell(3, 4, unfolds=int(numbers["unfolds"])))
    y, (v,) = run(cell, numbers, dt=numbers["dt"] + added)
    torch.testing.assert_close(v, numbers["v"], rtol=0.0, atol=atol)
    if "y" in numbers:
        torch.testing.assert_close(y, numbers["y"], rtol=0.0, atol=atol)
    if added == 1.0:
        _, (unmoved,) = run(cell, numbers)
        assert (unmoved - numbers["v"]).abs().max() > 0.1  # it is not a small difference


def test_neural_circuit_policy():
    numbers = load("ltc_ncp--ncps")
    cell = filled(numbers, LTCCell(3, wiring=wirings.FullyConnected(9, 2), unfolds=int(numbers["unfolds"])))
    y, (v,) = run(cell, numbers)
    close(y.float(), numbers["y"].float(), single=True)
    torch.testing.assert_close(v, numbers["v"], rtol=0.0, atol=2e-8)
