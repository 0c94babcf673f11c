# ruff: noqa: E501
"""What a wiring refuses, and in which words."""

import re

import numpy as np
import pytest

from liquidtime import wirings

SQUARE, SENSORY = np.eye(3), np.ones((2, 3))
FAN = {"sensory_fanout": 4, "inter_fanout": 3, "recurrent_command_synapses": 2, "motor_fanin": 3}


def adjacency(*args, **kwargs):
    return lambda: wirings.Adjacency(*args, **kwargs)


def ncp(**changed):
    return lambda: wirings.NCP(**({"inter": 12, "command": 6, "motor": 1} | FAN | changed))


CASES = [
    (adjacency(np.ones((2, 3)), SENSORY), ValueError, "`adjacency` must be square, of shape (H, H) with H at least 1; got (2, 3)"),
    (adjacency(np.ones((0, 0)), np.ones((2, 0))), ValueError, "with H at least 1; got (0, 0)"),
    (adjacency(np.ones(3), SENSORY), ValueError, "`adjacency` must be a matrix; got shape (3,)"),
    (adjacency([[1, 0], [1]], SENSORY), ValueError, "`adjacency` must be a matrix; its rows have different lengths"),
    (adjacency([["a"]], [[1]]), TypeError, "`adjacency` must be a matrix of -1, 0 and 1; got <U1"),
    (adjacency([[0, 2], [0.5, 1]], np.ones((1, 2))), ValueError, "entries -1, 0 and 1 only; 2 of 4 are not. The first is 2.0 at [0, 1]"),
    (adjacency([[np.nan]], [[1]]), ValueError, "1 of 1 are not. The first is nan at [0, 0]"),
    (adjacency(SQUARE, [[1, 300, 1]]), ValueError, "`sensory` must have entries -1, 0 and 1 only; 1 of 3"),
    (adjacency(SQUARE, np.ones((2, 4))), ValueError, "`sensory` must have shape (D, H) = (D, 3); got (2, 4). One row per input"),
    (adjacency(SQUARE, SENSORY, 4), ValueError, "`output_size` must be at most the number of neurons, 3; got 4"),
    (adjacency(SQUARE, SENSORY, 0), ValueError, "`output_size` must be at least 1; got 0"),
    (adjacency(SQUARE, SENSORY, layers=[[0], [1]]), ValueError, "`layers` must contain each neuron of 0…2 exactly once; [2] are missing"),
    (adjacency(SQUARE, SENSORY, layers=[[0, 1], [1, 2]]), ValueError, "[1] are there more than once"),
    (adjacency(SQUARE, SENSORY, layers=[[0, 1, 2, 3]]), ValueError, "[3] are not neurons"),
    (adjacency(SQUARE, SENSORY, layers=[[0, 1, 2], []]), ValueError, "must not contain empty layers; layer 1 is empty"),
    (adjacency(SQUARE, SENSORY, outputsize=1), TypeError, "`outputsize` is not an argument of Adjacency; did you mean `output_size`?"),
    (lambda: wirings.AutoNCP(28, 4).build(20).build(8), ValueError, "`wiring` was made for 20 inputs; got input_size 8. Use 20 inputs, or build a wiring for 8."),
    (lambda: wirings.AutoNCP(28, 4).build(0), ValueError, "`input_size` must be at least 1; got 0"),
    (lambda: wirings.FullyConnected(3).build(2.0), TypeError, "`input_size` must be a whole number; got 2.0"),
    (ncp(sensory_fanout=13), ValueError, "`sensory_fanout` must be at most `inter` = 12, the inter neurons; got 13"),
    (ncp(inter_fanout=7), ValueError, "`inter_fanout` must be at most `command` = 6, the command neurons; got 7"),
    (ncp(motor_fanin=7), ValueError, "`motor_fanin` must be at most `command` = 6, the command neurons; got 7"),
    (ncp(recurrent_command_synapses=-1), ValueError, "`recurrent_command_synapses` must be at least 0; got -1"),
    (ncp(motor=0), ValueError, "`motor` must be at least 1; got 0"),
    (ncp(seed=2**32), ValueError, "`seed` must be less than 2**32; got 4294967296"),
    (ncp(seed=None), TypeError, "`seed` must be a whole number; got None"),
    (ncp(sensory_fan_out=3), TypeError, "`sensory_fan_out` is not an argument of NCP; did you mean `sensory_fanout`?"),
    (lambda: wirings.AutoNCP(10, 8), ValueError, "`outputs` must be less than `units` - 2 = 8; got 8"),
    (lambda: wirings.AutoNCP(10, 3, 1.5), ValueError, "`sparsity` must be at least 0 and at most 1; got 1.5"),
    (lambda: wirings.AutoNCP(10, 3, float("nan")), ValueError, "`sparsity` must be at least 0 and at most 1; got nan"),
    (lambda: wirings.FullyConnected(4, 5), ValueError, "`outputs` must be at most `units` = 4; got 5"),
    (lambda: wirings.FullyConnected(4, self_connections=1), TypeError, "`self_connections` must be True or False; got 1"),
    (lambda: wirings.Random(4, sparsity=1.0), ValueError, "`sparsity` must be at least 0 and less than 1; got 1.0"),
    (lambda: wirings.Random(4).neuron_type(4), ValueError, "`i` must be a neuron in 0…3; got 4"),
    (lambda: wirings.from_dict({"type": "AutoNPC"}), ValueError, "`type` must be one of 'Adjacency', 'AutoNCP', 'FullyConnected', 'NCP', 'Random'; got 'AutoNPC'; did you mean `AutoNCP`?"),
    (lambda: wirings.from_dict({"type": "Random", "units": 3, "sparcity": 0.5}), ValueError, "`sparcity` is not a key of Random; did you mean `sparsity`?"),
    (lambda: wirings.from_dict({"type": "AutoNCP", "units": 3}), ValueError, "`d` must have the key 'outputs' to make a AutoNCP; got the keys ['type', 'units']"),
    (lambda: wirings.from_dict({"units": 3}), ValueError, "`d` must have the key 'type', one of Adjacency"),
    (lambda: wirings.from_dict([1]), TypeError, "`d` must be a dict with the type and arguments of a wiring; got list"),
    (lambda: wirings.from_json("{"), ValueError, "`s` must be JSON written by `to_json`: "),
    (lambda: wirings.from_json("3"), TypeError, "`d` must be a dict with the type and arguments of a wiring; got int"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "error", "text"), CASES, ids=[case[2][:40] for case in CASES])
def test_refused(make, error, text):
    with pytest.raises(error, match=re.escape(text)):
        make()


def test_a_wiring_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        wirings.Wiring()
