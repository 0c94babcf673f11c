"""`compat.ncps.torch.CfC` with loaded weights computes what `ncps.torch.CfC` computes."""

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
    start,
    wiring_pair,
)
from liquidtime.compat.ncps import torch as ours
from liquidtime.compat.ncps.names import cfc_cell, wired_cfc_cell

MODES = ("default", "pure", "no_gate")
ACTIVATIONS = ("silu", "relu", "tanh", "gelu", "lecun_tanh")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("backbone_layers", [0, 1, 2])
@pytest.mark.parametrize("mixed_memory", [False, True])
def test_modes_and_backbones(mode, backbone_layers, mixed_memory):
    options = {"mode": mode, "backbone_layers": backbone_layers, "mixed_memory": mixed_memory, "backbone_units": 11}
    assert_same_run(*pair("CfC", 3, 8, **options), 3)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    assert_same_run(*pair("CfC", 3, 8, activation=activation, backbone_layers=2, backbone_units=11), 3)


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("mixed_memory", [False, True])
def test_wirings(wiring, mode, mixed_memory):
    assert_same_run(*pair("CfC", 3, wiring, mode=mode, mixed_memory=mixed_memory), 3)


@pytest.mark.parametrize("units", [8, "auto_ncp"])
def test_layouts(units):
    flags = itertools.product((True, False), (True, False), (None, 2), (True, False))
    for return_sequences, batch_first, proj_size, mixed_memory in flags:
        options = {
            "return_sequences": return_sequences,
            "batch_first": batch_first,
            "proj_size": proj_size,
            "mixed_memory": mixed_memory,
        }
        assert_same_run(*pair("CfC", 3, units, **options), 3)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("return_sequences", [True, False])
@pytest.mark.parametrize("mixed_memory", [False, True])
def test_one_series(batch_first, return_sequences, mixed_memory):
    options = {"batch_first": batch_first, "return_sequences": return_sequences, "mixed_memory": mixed_memory}
    peer, network = pair("CfC", 3, 8, **options)
    x, dt, state = torch.randn(6, 3), torch.rand(6), start(peer, 1)
    state = (state[0][0], state[1][0]) if mixed_memory else state[0]
    for hx, timespans in itertools.product((None, state), (None, dt, dt.unsqueeze(-1))):
        expected, expected_after = peer(x, hx, timespans)
        y, after = network(x, hx, timespans)
        torch.testing.assert_close(y, expected, **TOLERANCE)
        torch.testing.assert_close(parts(after), parts(expected_after), **TOLERANCE)


@pytest.mark.parametrize("units", [8, "fully_connected"])
def test_a_batch_as_large_as_the_network_where_the_peer_is_silently_wrong(units):
    peer, network = pair("CfC", 3, units)
    B = peer.state_size
    x, dt, state = torch.randn(B, 6, 3), 3 * torch.rand(B, 6), torch.zeros(B, B)
    rows, states = rows_alone(peer, x, state, dt)
    batched, _ = peer(x, state, dt.unsqueeze(-1))
    assert (batched - rows).abs().max() > 0.01, "the peer's batch is its rows: this comparison has lost its point"
    y, after = network(x, state, dt.unsqueeze(-1))
    torch.testing.assert_close(y, rows, **TOLERANCE)
    torch.testing.assert_close(parts(after), states, **TOLERANCE)


def test_times_that_the_peer_takes_too():
    peer, network = pair("CfC", 3, 8)
    x, dt = torch.randn(5, 6, 3), torch.rand(5, 6, 1)
    shared, per_unit = dt[:1], dt.expand(5, 6, 8)
    for timespans in (shared, shared.squeeze(-1), per_unit):
        torch.testing.assert_close(network(x, None, timespans)[0], peer(x, None, timespans)[0], **TOLERANCE)
    with pytest.raises(ValueError, match="`timespans` must be one time for each sample"):
        network(x, None, torch.rand(5, 6, 8))


@pytest.mark.parametrize("mode", MODES)
def test_cells(mode):
    x, h = torch.randn(5, 3), torch.randn(5, 8)
    peer, cell = ncps.torch.CfCCell(3, 8, mode), ours.CfCCell(3, 8, mode)
    cell.load_state_dict(peer.state_dict())
    for ts in (0.7, torch.tensor(0.7), torch.rand(5, 1)):
        torch.testing.assert_close(cell(x, h, ts), peer(x, h, ts), **TOLERANCE)
    theirs, mine = wiring_pair("ncp")
    peer, cell = ncps.torch.WiredCfCCell(3, theirs, mode), ours.WiredCfCCell(3, mine, mode)
    cell.load_state_dict(peer.state_dict())
    h = torch.randn(5, 13)
    for ts in (0.7, torch.rand(5, 1)):
        torch.testing.assert_close(cell(x, h, ts), peer(x, h, ts), **TOLERANCE)
    for name in ("state_size", "layer_sizes", "num_layers", "sensory_size", "motor_size", "output_size"):
        assert getattr(cell, name) == getattr(peer, name)
    assert cell.synapse_count == theirs.synapse_count
    assert cell.sensory_synapse_count == theirs.sensory_synapse_count


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("mixed_memory", [False, True])
def test_gradients(mode, mixed_memory):
    peer, network = pair("CfC", 3, 8, mode=mode, mixed_memory=mixed_memory, backbone_layers=2, proj_size=4)
    assert_same_gradients(peer, network, 3, in_rnn_cell(cfc_cell))


def test_gradients_of_a_wired_network():
    peer, network = pair("CfC", 3, "ncp", mixed_memory=True, proj_size=4)
    assert_same_gradients(peer, network, 3, in_rnn_cell(wired_cfc_cell))


def in_rnn_cell(translate):
    def translated(given):
        prefix = "rnn_cell."
        inner = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}
        rest = {name: value for name, value in given.items() if not name.startswith(prefix)}
        return {f"{prefix}cell.{name}": value for name, value in translate(inner).items()} | rest

    return translated


def test_dropout_begins_at_the_second_layer():
    one = ours.CfC(3, 8, backbone_layers=1, backbone_dropout=0.5)
    two = ours.CfC(3, 8, backbone_layers=2, backbone_dropout=0.5)
    x = torch.randn(2, 4, 3)
    assert torch.equal(one(x)[0], one(x)[0])
    assert not torch.equal(two(x)[0], two(x)[0])


@pytest.mark.parametrize("mode", MODES)
def test_weights_start_where_those_of_the_peer_start(mode):
    """Means and spreads of every kind of parameter, over a network large enough to tell."""
    peer = ncps.torch.CfC(40, 200, mode=mode, mixed_memory=True)
    network = ours.CfC(40, 200, mode=mode, mixed_memory=True)
    mine = {name: p.detach() for name, p in network.named_parameters()}
    theirs = in_rnn_cell(cfc_cell)({name: p.detach() for name, p in peer.named_parameters()})
    assert mine.keys() == theirs.keys()
    for name, value in theirs.items():
        assert float(mine[name].std()) == pytest.approx(float(value.std()), rel=0.2), name
        assert float(mine[name].mean()) == pytest.approx(float(value.mean()), abs=0.2 * float(value.std())), name
