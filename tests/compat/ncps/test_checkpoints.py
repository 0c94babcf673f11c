"""Checkpoints of `ncps` load: into its face here by themselves, and into `lt.CfC` and `lt.LTC` by a function."""

import copy

import ncps.torch
import pytest
import torch

import liquidtime as lt
from compat.ncps.peers import TOLERANCE, parts, wiring_pair
from liquidtime.compat.ncps import convert_state_dict, load_state_dict
from liquidtime.compat.ncps import torch as ours

VARIANTS = {"default": "cfc", "pure": "cf_s", "no_gate": "no_gate"}
RECIPES = {
    None: None,
    "fully_connected": lt.wirings.FullyConnected(8, 4),
    "random": lt.wirings.Random(9, 3, 0.5),
    "ncp": lt.wirings.NCP(6, 5, 2, 3, 2, 4, 3),
    "auto_ncp": lt.wirings.AutoNCP(16, 4),
}


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def assert_equal_to_peer(layer, peer, input_size=3):
    x = torch.randn(5, 6, input_size)
    with torch.no_grad():
        y, state = layer(x)
        expected, after = peer(x)
    torch.testing.assert_close(y, expected, **TOLERANCE)
    torch.testing.assert_close(tuple(part[0] for part in parts(state)), parts(after), **TOLERANCE)


@pytest.mark.parametrize("mode", VARIANTS)
@pytest.mark.parametrize("mixed_memory", [False, True])
@pytest.mark.parametrize("backbone_layers", [0, 1, 2])
def test_into_plain_cfc(mode, mixed_memory, backbone_layers):
    sizes = {"backbone_layers": backbone_layers, "backbone_units": 11, "proj_size": 2, "mixed_memory": mixed_memory}
    peer = ncps.torch.CfC(3, 8, mode=mode, **sizes)
    layer = lt.CfC(3, 8, VARIANTS[mode], **sizes)
    load_state_dict(layer, peer.state_dict())
    assert_equal_to_peer(layer, peer)


@pytest.mark.parametrize("wiring", RECIPES)
@pytest.mark.parametrize("mixed_memory", [False, True])
@pytest.mark.parametrize("implicit", [False, True])
def test_into_plain_ltc(wiring, mixed_memory, implicit):
    units = 7 if wiring is None else wiring_pair(wiring)[0]
    peer = ncps.torch.LTC(3, units, mixed_memory=mixed_memory, implicit_param_constraints=implicit)
    with torch.no_grad():
        peer.rnn_cell.w[0, 0] = 0.0
    layer = lt.LTC(3, 7 if wiring is None else None, RECIPES[wiring], mixed_memory=mixed_memory)
    load_state_dict(layer, peer.state_dict(), implicit_param_constraints=implicit)
    assert all(parameter.isfinite().all() for parameter in layer.parameters())
    assert_equal_to_peer(layer, peer)


@pytest.mark.parametrize(("input_mapping", "output_mapping"), [("linear", None), (None, "linear")])
def test_maps_that_were_left_out_are_the_identity(input_mapping, output_mapping):
    peer = ncps.torch.LTC(3, 7, input_mapping=input_mapping, output_mapping=output_mapping)
    layer = lt.LTC(3, 7)
    torch.nn.init.constant_(layer.cells[0].input_bias, 9.0)
    torch.nn.init.constant_(layer.cells[0].output_bias, 9.0)
    load_state_dict(layer, peer.state_dict())
    assert_equal_to_peer(layer, peer)


def test_converted_names_are_those_of_the_layer():
    peer = ncps.torch.CfC(3, 8, mixed_memory=True, proj_size=2)
    converted = convert_state_dict(peer.state_dict())
    layer = lt.CfC(3, 8, mixed_memory=True, proj_size=2)
    layer.load_state_dict(converted)
    assert_equal_to_peer(layer, peer)


class Model(torch.nn.Module):
    def __init__(self, kind, units, **options):
        super().__init__()
        self.rnn = kind(3, units, **options)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


@pytest.mark.parametrize("name", ["CfC", "LTC"])
def test_inside_a_model(name):
    theirs, mine = wiring_pair("auto_ncp")
    peer, model = Model(getattr(ncps.torch, name), theirs), Model(getattr(ours, name), mine)
    load_state_dict(model, peer.state_dict())
    x = torch.randn(5, 6, 3)
    torch.testing.assert_close(model(x), peer(x), **TOLERANCE)


@pytest.mark.parametrize("name", ["CfC", "LTC"])
@pytest.mark.parametrize("units", [8, "ncp"])
def test_own_state_dict_and_copies(name, units):
    def make():
        return getattr(ours, name)(3, units if isinstance(units, int) else wiring_pair(units)[1], mixed_memory=True)

    network, other, x = make(), make(), torch.randn(5, 6, 3)
    stored = [value for value in network.state_dict(keep_vars=True).values() if isinstance(value, torch.nn.Parameter)]
    assert [id(value) for value in stored] == [id(parameter) for parameter in network.parameters()]
    expected = network(x)[0]
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(x)[0], expected)
    twin = copy.deepcopy(network)
    assert torch.equal(twin(x)[0], expected)
    torch.nn.init.zeros_(twin.lstm.input_map.weight)
    assert not torch.equal(twin(x)[0], expected)  # the copy runs on its own weights
    assert torch.equal(network(x)[0], expected)
    values = {key: torch.zeros_like(value) for key, value in network.state_dict().items()}
    replaced = torch.func.functional_call(network, values, (x,))[0]
    assert not torch.equal(replaced, expected)


def test_copies_load_checkpoints_too():
    peer, network = ncps.torch.CfC(3, 8), copy.deepcopy(ours.CfC(3, 8))
    network.load_state_dict(peer.state_dict())
    x = torch.randn(2, 4, 3)
    torch.testing.assert_close(network(x)[0], peer(x)[0], **TOLERANCE)


def test_a_graph_that_grew_in_the_peer_comes_with_the_checkpoint():
    theirs, mine = wiring_pair("ncp")
    theirs.build(3)  # the layer builds it again, which draws more synapses
    x = torch.randn(2, 4, 3)
    for name in ("CfC", "LTC"):
        peer, network = getattr(ncps.torch, name)(3, theirs), getattr(ours, name)(3, mine)
        network.load_state_dict(peer.state_dict())
        torch.testing.assert_close(network(x)[0], peer(x)[0], **TOLERANCE)
    assert theirs.synapse_count > mine.synapse_count
    layer = lt.LTC(3, wiring=RECIPES["ncp"])
    with pytest.raises(ValueError, match=r"another wiring: \d+ of 169 recurrent synapses are in only one"):
        load_state_dict(layer, peer.state_dict())


def test_another_module_is_left_to_torch():
    network = ours.CfC(3, 8)
    with pytest.raises(RuntimeError, match="Missing key"):
        network.load_state_dict(ncps.torch.LTC(3, 8).state_dict())
    with pytest.raises(RuntimeError, match="size mismatch"):
        network.load_state_dict(ncps.torch.CfC(3, 9).state_dict())


CFC = ncps.torch.CfC(3, 8).state_dict()
MIXED = ncps.torch.CfC(8, 8, mixed_memory=True).state_dict()
PURE = ncps.torch.CfC(3, 8, mode="pure").state_dict()


@pytest.mark.parametrize(
    ("layer", "state_dict", "text"),
    [
        (lt.CfC(3, 9), CFC, r"`cells.0.\S+` must be \(.*\); got \(.*\)"),
        (lt.CfC(3, 8, num_layers=2), CFC, "`module` must have one layer that runs forward"),
        (lt.CfC(3, 8, proj_size=2), CFC, r"`projection.\w+` must be \(2.*\); got nothing"),
        (lt.CfC(8, 8, mixed_memory="input"), MIXED, 'must have mixed_memory="hidden" and forget_bias 1'),
        (lt.CfC(8, 8, mixed_memory=True, forget_bias=0.5), MIXED, "got 'hidden' and 0.5"),
        (lt.CfC(3, 8, head_activation="lecun_tanh"), CFC, "got 'lecun_tanh' and True"),
        (lt.CfC(3, 8, gate_bias=False), CFC, "got 'tanh' and False"),
        (lt.CfC(3, 8, "cf_s_paper", amplitude="state"), PURE, 'must have variant "cf_s"'),
        (lt.CfC(3, 8), lt.CfC(3, 8).state_dict(), r"must be that of an ncps.torch.CfC or LTC.*cells\.0"),
    ],
)
def test_refusals(layer, state_dict, text):
    with pytest.raises(ValueError, match=text):
        load_state_dict(layer, state_dict)


def test_a_wired_cfc_is_refused_by_the_plain_layer():
    peer = ncps.torch.CfC(3, wiring_pair("ncp")[0])
    with pytest.raises(ValueError, match=r"wired CfC of ncps.*Load it into liquidtime.compat.ncps.torch.CfC"):
        load_state_dict(lt.CfC(3, wiring=RECIPES["ncp"]), peer.state_dict())


@pytest.mark.parametrize(("name", "value"), [("w", -0.1), ("cm", 0.0)])
def test_what_softplus_cannot_give_is_refused(name, value):
    state_dict = ncps.torch.LTC(3, 7, implicit_param_constraints=False).state_dict()
    state_dict[f"rnn_cell.{name}"].reshape(-1)[0] = value
    with pytest.raises(ValueError, match=f"`rnn_cell.{name}` must be .*; its smallest value is {value:g}"):
        convert_state_dict(state_dict, implicit_param_constraints=False)
