"""A wiring is a value: never changed, equal by its arguments, written and read as JSON."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liquidtime import wirings

LANE_KEEPING = wirings.NCP(12, 6, 1, sensory_fanout=6, inter_fanout=4, recurrent_command_synapses=4, motor_fanin=6)
SMALL = wirings.Adjacency([[0, 1, -1], [0, 0, 1], [1, 0, 0]], [[1, 0, 0], [0, -1, 0]], 1, [[2, 1], [0]])
ALL = [
    LANE_KEEPING,
    wirings.AutoNCP(28, 4),
    wirings.AutoNCP(28, 4, 0.75, seed=3),
    wirings.FullyConnected(8, 4, self_connections=False),
    wirings.FullyConnected(5),
    wirings.Random(9, 2, 0.5),
    SMALL,
]


def width(wiring):
    return wiring.input_size or 5


@pytest.mark.parametrize("wiring", ALL, ids=repr)
class TestEveryWiring:
    def test_fields_cannot_be_assigned(self, wiring):
        before = wiring.to_dict()
        for name in [*wiring.to_dict(), "units", "output_size", "input_size", "layers", "new"]:
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(wiring, name, 3)
        assert wiring.to_dict() == before

    def test_building_changes_nothing_and_repeats(self, wiring):
        before = wiring.to_dict()
        first = wiring.build(width(wiring))
        wiring.input_size or wiring.build(2)
        assert wiring.build(width(wiring)) == first
        assert hash(wiring.build(width(wiring))) == hash(first)
        assert first.build(width(wiring)) is first
        assert wiring.to_dict() == before

    def test_arrays_cannot_be_written(self, wiring):
        graph = wiring.build(width(wiring))
        for array in (graph.adjacency, graph.sensory):
            assert array.dtype == np.int8
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 1
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.setflags(write=True)

    def test_json_round_trip(self, wiring):
        for value in (wiring, wiring.build(width(wiring))):
            again = wirings.from_json(value.to_json())
            assert again == value
            assert hash(again) == hash(value)
            assert type(again) is type(value)
            assert again.layers == value.layers
            assert again.build(width(wiring)) == value.build(width(wiring))
            assert json.loads(value.to_json()) == value.to_dict()

    def test_copies_are_equal_and_still_read_only(self, wiring):
        for again in (copy.copy(wiring), copy.deepcopy(wiring), pickle.loads(pickle.dumps(wiring))):
            assert again == wiring
            assert not again.build(width(wiring)).adjacency.flags.writeable

    def test_layers_partition_the_neurons_and_end_in_the_outputs(self, wiring):
        assert sorted(i for layer in wiring.layers for i in layer) == list(range(wiring.units))
        assert set(range(wiring.output_size)) <= set(wiring.layers[-1])

    def test_equals_itself_alone(self, wiring):
        assert [wiring == other for other in ALL].count(True) == 1


def test_equality_is_of_values():
    assert wirings.AutoNCP(28, 4) == wirings.AutoNCP(units=28, outputs=4, sparsity=0.5, seed=22222)
    assert wirings.FullyConnected(8) == wirings.FullyConnected(8, 8)
    assert wirings.AutoNCP(28, 4) != wirings.AutoNCP(28, 4, seed=1)
    graph = wirings.AutoNCP(28, 4).build(20)
    rebuilt = wirings.Adjacency(graph.adjacency, graph.sensory, graph.output_size, graph.layers)
    assert rebuilt == graph
    assert len({rebuilt, graph}) == 1
    assert graph != wirings.Adjacency(graph.adjacency, graph.sensory, graph.output_size)
    assert graph != wirings.Adjacency(graph.adjacency, -graph.sensory, graph.output_size, graph.layers)
    assert graph != "graph"


def test_an_array_given_may_change_afterwards():
    adjacency = np.eye(3, dtype=np.int8)
    graph = wirings.Adjacency(adjacency, np.ones((2, 3)))
    adjacency[0, 1] = -1
    assert graph.adjacency[0, 1] == 0


def test_graphs_depend_on_inputs_and_seed():
    graphs = [wirings.AutoNCP(28, 4, seed=seed).build(D) for seed in (0, 1) for D in (7, 8)]
    assert len(set(graphs)) == 4
    assert not np.array_equal(graphs[0].adjacency, graphs[1].adjacency)


def test_lane_keeping_network():
    assert (LANE_KEEPING.units, LANE_KEEPING.output_size, LANE_KEEPING.input_size) == (19, 1, None)
    assert LANE_KEEPING.layers == (tuple(range(7, 19)), tuple(range(1, 7)), (0,))
    assert [LANE_KEEPING.neuron_type(i) for i in (0, 1, 6, 7, 18)] == [
        "motor",
        "command",
        "command",
        "inter",
        "inter",
    ]
    graph = LANE_KEEPING.build(64)
    assert graph.sensory.shape == (64, 19)
    assert graph.sensory_synapse_count == 64 * 6


@settings(max_examples=80, deadline=None)
@given(
    data=st.data(),
    sizes=st.tuples(*[st.integers(1, 9)] * 3),
    D=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
)
def test_ncp_reaches_every_neuron(data, sizes, D, seed):
    inter, command, motor = sizes
    wiring = wirings.NCP(
        *sizes,
        sensory_fanout=data.draw(st.integers(1, inter)),
        inter_fanout=data.draw(st.integers(1, command)),
        recurrent_command_synapses=data.draw(st.integers(0, 6)),
        motor_fanin=data.draw(st.integers(1, command)),
        seed=seed,
    )
    graph = wiring.build(D)
    inter, command, motor = (list(layer) for layer in wiring.layers)
    present, sensory = graph.adjacency != 0, graph.sensory != 0
    assert sensory[:, inter].any(axis=0).all()
    assert (sensory[:, inter].sum(axis=1) >= wiring.sensory_fanout).all()
    assert not sensory[:, command + motor].any()
    assert present[np.ix_(inter, command)].any(axis=0).all()
    assert present[np.ix_(inter, command)].any(axis=1).all()
    assert present[np.ix_(command, motor)].any(axis=0).all()
    assert present[np.ix_(command, motor)].any(axis=1).all()
    assert present[np.ix_(command, command)].sum() <= wiring.recurrent_command_synapses
    assert not present[motor].any()
    assert not present[:, inter].any()
    assert not present[np.ix_(inter, motor)].any()


def test_random_keeps_its_share_and_fully_connected_all():
    graph = wirings.Random(20, sparsity=0.75).build(8)
    assert (graph.synapse_count, graph.sensory_synapse_count) == (100, 40)
    graph = wirings.FullyConnected(20, self_connections=False).build(8)
    assert graph.synapse_count == 380
    assert not np.diagonal(graph.adjacency).any()
