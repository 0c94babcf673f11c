"""The wirings that are built in place: same graphs, same ways to change them."""

import json

import ncps.wirings
import numpy as np
import pytest

from compat.ncps.peers import WIRINGS, wiring_pair
from liquidtime import wirings as immutable
from liquidtime.compat.ncps import torch as networks
from liquidtime.compat.ncps import wirings


@pytest.mark.parametrize("name", WIRINGS)
def test_same_before_and_after_they_are_built(name):
    theirs, mine = wiring_pair(name)
    np.testing.assert_array_equal(mine.adjacency_matrix, theirs.adjacency_matrix)
    assert (mine.is_built(), mine.input_dim, mine.sensory_adjacency_matrix) == (False, None, None)
    theirs.build(5)
    mine.build(5)
    np.testing.assert_array_equal(mine.adjacency_matrix, theirs.adjacency_matrix)
    np.testing.assert_array_equal(mine.sensory_adjacency_matrix, theirs.sensory_adjacency_matrix)
    np.testing.assert_array_equal(mine.erev_initializer(), theirs.erev_initializer())
    np.testing.assert_array_equal(mine.sensory_erev_initializer(), theirs.sensory_erev_initializer())
    for key in ("units", "input_dim", "output_dim", "num_layers", "synapse_count", "sensory_synapse_count"):
        assert getattr(mine, key) == getattr(theirs, key)
    for layer in range(mine.num_layers):
        assert mine.get_neurons_of_layer(layer) == theirs.get_neurons_of_layer(layer)
    kinds = [theirs.get_type_of_neuron(i) for i in range(theirs.units)]
    assert [mine.get_type_of_neuron(i) for i in range(mine.units)] == kinds


@pytest.mark.parametrize("name", WIRINGS)
def test_use_changes_nothing_where_the_peer_draws_again(name):
    _, mine = wiring_pair(name)
    mine.build(5)
    before = mine.adjacency_matrix.copy(), mine.sensory_adjacency_matrix.copy()
    networks.LTC(5, mine)
    networks.LTC(5, mine)
    np.testing.assert_array_equal(mine.adjacency_matrix, before[0])
    np.testing.assert_array_equal(mine.sensory_adjacency_matrix, before[1])
    with pytest.raises(ValueError, match="`input_dim` must be 5"):
        mine.build(6)


@pytest.mark.parametrize("name", WIRINGS)
def test_config(name):
    theirs, mine = wiring_pair(name)
    config = json.loads(json.dumps(mine.get_config()))
    again = type(mine).from_config(config)
    again.build(4)
    mine.build(4)
    np.testing.assert_array_equal(again.adjacency_matrix, mine.adjacency_matrix)
    np.testing.assert_array_equal(again.sensory_adjacency_matrix, mine.sensory_adjacency_matrix)
    if name != "ncp":  # the peer's has lists and no seed there, which its own constructor refuses
        assert config == theirs.get_config()


def hand_made(kind):
    wiring = kind(3)
    wiring.set_output_dim(1)
    wiring.build(2)
    wiring.add_sensory_synapse(0, 2, 1)
    wiring.add_sensory_synapse(1, 1, -1)
    wiring.add_synapse(2, 0, -1)
    wiring.add_synapse(1, 0, 1)
    return wiring


def test_made_by_hand():
    theirs, mine = hand_made(ncps.wirings.Wiring), hand_made(wirings.Wiring)
    assert mine.get_config() == theirs.get_config()
    again = wirings.Wiring.from_config(mine.get_config())
    assert again.get_config() == mine.get_config()
    assert networks.LTCCell(mine).synapse_count == 2
    assert networks.WiredCfCCell(None, mine).sensory_synapse_count == 2


@pytest.mark.parametrize("name", WIRINGS)
def test_graph(name):
    theirs, mine = wiring_pair(name)
    with pytest.raises(ValueError, match="not built"):
        mine.get_graph()
    theirs.build(4)
    mine.build(4)
    graph, expected = mine.get_graph(), theirs.get_graph()
    assert dict(graph.nodes(data=True)) == dict(expected.nodes(data=True))
    as_dict = {(a, b): data for a, b, data in graph.edges(data=True)}
    assert as_dict == {(a, b): data for a, b, data in expected.edges(data=True)}
    assert len(mine.get_graph(include_sensory_neurons=False)) == mine.units


def test_drawing():
    matplotlib = pytest.importorskip("matplotlib", reason="drawing needs matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    wiring = hand_made(wirings.Wiring)
    figure, axes = pyplot.subplots()
    handles = wiring.draw_graph(layout="circular", neuron_colors={"command": "tab:cyan"}, draw_labels=True)
    assert {handle.get_label() for handle in handles} == {
        f"{k} neurons" for k in ("Inter", "Motor", "Sensory", "Command")
    }
    assert {text.get_text() for text in axes.texts} == {*(f"neuron_{i}" for i in range(3)), "sensory_0", "sensory_1"}
    pyplot.close(figure)
    with pytest.raises(ValueError, match=r"`layout` must be one of .*; did you mean `circular`"):
        wiring.draw_graph(layout="circle")


@pytest.mark.parametrize(
    ("src", "dest", "polarity", "text"),
    [(3, 0, 1, "`src` must be in 0…2; got 3"), (0, -1, 1, "`dest` must be in 0…2; got -1"), (0, 0, 2, "`polarity`")],
)
def test_refusals(src, dest, polarity, text):
    with pytest.raises(ValueError, match=text):
        hand_made(wirings.Wiring).add_synapse(src, dest, polarity)


def test_networks_take_wirings_of_any_kind():
    kinds = (ncps.wirings.AutoNCP(16, 4), wirings.AutoNCP(16, 4), immutable.AutoNCP(16, 4))
    masks = [networks.LTC(3, wiring).rnn_cell.cell.recurrent.mask for wiring in kinds]
    assert masks[0].equal(masks[1])
    assert masks[0].equal(masks[2])
    with pytest.raises(ValueError, match="`wiring` is not built"):
        networks.LTCCell(immutable.AutoNCP(16, 4))
    with pytest.raises(TypeError, match="`wiring` must be a wiring; got int"):
        networks.WiredCfCCell(3, 16)
