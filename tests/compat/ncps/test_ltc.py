"""`compat.ncps.torch.LTC` with loaded weights computes what `ncps.torch.LTC` computes."""

import itertools

import ncps.torch
import pytest
import torch

from compat.ncps.peers import (
    TOLERANCE,
    WIRINGS,
    assert_same_gradients,
    assert_same_run,
    pair,
    parts,
    rows_alone,
    wiring_pair,
)
from liquidtime.compat.ncps import torch as ours
from liquidtime.compat.ncps.names import ltc_cell


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("units", [7, *WIRINGS])
@pytest.mark.parametrize("mixed_memory", [False, True])
@pytest.mark.parametrize("implicit", [False, True])
def test_wirings(units, mixed_memory, implicit):
    options = {"mixed_memory": mixed_memory, "implicit_param_constraints": implicit}
    assert_same_run(*pair("LTC", 3, units, **options), 3)


@pytest.mark.parametrize("input_mapping", ["affine", "linear", None])
@pytest.mark.parametrize("output_mapping", ["affine", "linear", None])
def test_mappings(input_mapping, output_mapping):
    peer, network = pair("LTC", 3, "auto_ncp", input_mapping=input_mapping, output_mapping=output_mapping)
    assert_same_run(peer, network, 3)
    counted = sum(p.numel() for p in peer.parameters() if p.requires_grad)
    assert sum(p.numel() for p in network.parameters()) == counted


@pytest.mark.parametrize("options", [{"ode_unfolds": 1}, {"ode_unfolds": 9}, {"epsilon": 0.3}])
def test_solver_settings(options):
    peer, network = pair("LTC", 3, 7, **options)
    assert_same_run(peer, network, 3)
    x = torch.randn(2, 4, 3)
    assert (network(x)[0] - pair_with_defaults(peer)(x)[0]).abs().max() > 1e-4  # the setting is read


def pair_with_defaults(peer):
    network = ours.LTC(3, 7)
    network.load_state_dict(peer.state_dict())
    return network


def test_layouts():
    for return_sequences, batch_first, mixed_memory in itertools.product((True, False), repeat=3):
        options = {"return_sequences": return_sequences, "batch_first": batch_first, "mixed_memory": mixed_memory}
        peer, network = pair("LTC", 3, "ncp", **options)
        assert_same_run(peer, network, 3)
        x, dt = torch.randn(6, 3), torch.rand(6) + 0.1
        for timespans in (None, dt, dt.unsqueeze(-1)):
            expected, state = peer(x, None, timespans)
            y, after = network(x, None, timespans)
            torch.testing.assert_close(y, expected, **TOLERANCE)
            torch.testing.assert_close(parts(after), parts(state), **TOLERANCE)


def test_a_batch_as_large_as_the_network_where_the_peer_is_silently_wrong():
    peer, network = pair("LTC", 3, 7)
    x, dt, state = torch.randn(7, 6, 3), 3 * torch.rand(7, 6) + 0.05, torch.zeros(7, 7)
    rows, states = rows_alone(peer, x, state, dt)
    batched, _ = peer(x, state, dt.unsqueeze(-1))
    assert (batched - rows).abs().max() > 0.01, "the peer's batch is its rows: this comparison has lost its point"
    y, after = network(x, state, dt.unsqueeze(-1))
    torch.testing.assert_close(y, rows, **TOLERANCE)
    torch.testing.assert_close(parts(after), states, **TOLERANCE)


def test_no_time_leaves_the_state_where_the_peer_has_nan():
    peer, network = pair("LTC", 3, 7)
    x, state = torch.randn(1, 1, 3), torch.randn(1, 7)
    assert peer(x, state, torch.zeros(1, 1, 1))[1].isnan().all()
    torch.testing.assert_close(network(x, state, torch.zeros(1, 1, 1))[1], state)


def test_cell_and_its_constraints():
    theirs, mine = wiring_pair("ncp")
    peer, cell = ncps.torch.LTCCell(theirs, 3), ours.LTCCell(mine, 3)
    with torch.no_grad():
        for name in ("w", "sensory_w", "cm", "gleak"):
            getattr(peer, name).sub_(0.45)  # some below 0
    cell.load_state_dict(peer.state_dict())
    for module in (peer, cell):
        module.apply_weight_constraints()
    assert (cell.cell.capacitance == 0).any()
    x, v = torch.randn(5, 3), torch.randn(5, 13)
    torch.testing.assert_close(cell(x, v), peer(x, v), **TOLERANCE)
    for elapsed_time in (0.3, torch.rand(5, 1) + 0.1):
        torch.testing.assert_close(cell(x, v, elapsed_time), peer(x, v, elapsed_time), **TOLERANCE)
    for name in ("state_size", "sensory_size", "motor_size", "output_size", "synapse_count"):
        assert getattr(cell, name) == getattr(peer, name)
    assert cell.sensory_synapse_count == theirs.sensory_synapse_count


def test_softplus_leaves_weights_below_zero_alone():
    cell = ours.LTCCell(wiring_pair("ncp")[1], 3, implicit_param_constraints=True)
    torch.nn.init.constant_(cell.cell.leak, -1.0)
    cell.apply_weight_constraints()
    assert (cell.cell.leak == -1.0).all()


@pytest.mark.parametrize("units", [7, "ncp"])
@pytest.mark.parametrize("implicit", [False, True])
def test_gradients(units, implicit):
    peer, network = pair("LTC", 3, units, implicit_param_constraints=implicit)

    def translate(given):
        inner = {name.removeprefix("rnn_cell."): value for name, value in given.items()}
        return {f"rnn_cell.cell.{name}": value for name, value in ltc_cell(inner).items()}

    assert_same_gradients(peer, network, 3, translate)
