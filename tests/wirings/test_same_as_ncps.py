"""The graphs are, entry by entry, those of `ncps` 1.0.1."""

import itertools

import ncps.wirings as peer
import numpy as np
import pytest

from liquidtime import wirings

SEEDS = (0, 7, 1111, 22222, 2**32 - 1)
INPUTS = (1, 3, 20, 64)


def assert_same(ours, theirs, input_size):
    theirs.build(input_size)
    graph = ours.build(input_size)
    np.testing.assert_array_equal(graph.adjacency, theirs.adjacency_matrix)
    np.testing.assert_array_equal(graph.sensory, theirs.sensory_adjacency_matrix)
    assert graph.synapse_count == theirs.synapse_count
    assert graph.sensory_synapse_count == theirs.sensory_synapse_count
    assert (ours.units, ours.output_size) == (theirs.units, theirs.output_dim)
    assert (graph.units, graph.output_size, graph.input_size) == (ours.units, ours.output_size, input_size)
    layers = tuple(tuple(theirs.get_neurons_of_layer(k)) for k in range(theirs.num_layers))
    assert ours.layers == graph.layers == layers
    for i in range(ours.units):
        assert ours.neuron_type(i) == graph.neuron_type(i) == theirs.get_type_of_neuron(i)


NCP_SIZES = [
    (12, 6, 1, 4, 4, 4, 4),
    (12, 6, 1, 1, 1, 0, 1),  # many neurons nothing reaches at first
    (10, 10, 8, 6, 6, 4, 6),
    (30, 4, 2, 2, 1, 9, 1),
    (3, 12, 2, 3, 1, 5, 2),
    (1, 1, 1, 1, 1, 1, 1),
    (5, 4, 3, 0, 0, 2, 0),
    (8, 5, 9, 8, 5, 30, 5),
]


@pytest.mark.parametrize("sizes", NCP_SIZES)
@pytest.mark.parametrize("seed", SEEDS)
def test_ncp(sizes, seed):
    for input_size in INPUTS:
        assert_same(wirings.NCP(*sizes, seed=seed), peer.NCP(*sizes, seed=seed), input_size)


@pytest.mark.parametrize("seed", [45, 178, 185])
def test_ncp_limits_what_a_command_neuron_left_out_is_given(seed):
    assert_same(wirings.NCP(6, 2, 2, 2, 1, 1, 1, seed), peer.NCP(6, 2, 2, 2, 1, 1, 1, seed), 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_auto_ncp(seed):
    sizes = [(28, 4), (4, 1), (16, 10), (19, 1), (64, 8)]
    for (units, outputs), sparsity, D in itertools.product(sizes, (0.1, 0.5, 0.75, 1.0), INPUTS):
        ours = wirings.AutoNCP(units, outputs, sparsity, seed)
        assert_same(ours, peer.AutoNCP(units, outputs, sparsity, seed), D)


@pytest.mark.parametrize("seed", SEEDS)
def test_fully_connected(seed):
    sizes = [(1, None), (8, 4), (19, 1), (13, None)]
    for (units, outputs), loops, D in itertools.product(sizes, (True, False), INPUTS):
        ours = wirings.FullyConnected(units, outputs, seed, loops)
        assert_same(ours, peer.FullyConnected(units, outputs, seed, loops), D)


@pytest.mark.parametrize("seed", SEEDS)
def test_random(seed):
    sizes = [(1, None), (8, 4), (19, 1), (13, None)]
    for (units, outputs), sparsity, D in itertools.product(sizes, (0.0, 0.3, 0.5, 0.9, 0.99), INPUTS):
        assert_same(wirings.Random(units, outputs, sparsity, seed), peer.Random(units, outputs, sparsity, seed), D)


@pytest.mark.parametrize(
    ("wiring", "input_size", "counts"),
    [
        (wirings.AutoNCP(28, 4), 20, (84, 140)),
        (wirings.NCP(10, 10, 8, 6, 6, 4, 6), 8, (112, 48)),
        (wirings.FullyConnected(8, 4), 3, (64, 24)),
    ],
)
def test_golden_counts(wiring, input_size, counts):
    graph = wiring.build(input_size)
    assert (graph.synapse_count, graph.sensory_synapse_count) == counts
