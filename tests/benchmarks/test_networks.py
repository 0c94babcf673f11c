"""What is measured computes what its name says."""

import pytest
import torch

import liquidtime as lt
from benchmarks.side_by_side import jax_cfc, networks
from benchmarks.side_by_side.contenders import CONTENDERS, LOOP, why_missing
from benchmarks.side_by_side.networks import CELLS, signals
from benchmarks.side_by_side.ode_rnn import ODERNN
from benchmarks.side_by_side.shape import Shape
from benchmarks.side_by_side.transformer import CausalTransformer
from liquidtime.ops import using_backend
from liquidtime.solvers import RK4

SHAPE = Shape(3, 5, 2, 4, 6)


@pytest.mark.parametrize("name", [name for name, entry in CONTENDERS.items() if entry.training is None])
def test_step_goes_on_from_begin(name):
    """The state that `begin` returns and the one after `step` have the shapes of the network."""
    if reason := why_missing(name):
        pytest.skip(reason)
    entry = CONTENDERS[name]
    x, dt, _ = signals(SHAPE)
    network = entry.make(SHAPE)
    with torch.no_grad(), using_backend(entry.backend):
        y = network.run(x, dt)
        state = network.step(x[:, 0], network.begin(x, dt), dt[:, 0])
    assert y.shape == (3, 5, 4)
    assert torch.isfinite(y).all()
    first = state if isinstance(state, torch.Tensor) else state[0]
    width = network.layer.hidden_size if isinstance(network, networks.Ours) else 4
    assert first.shape[-1] == (1 if name == "Transformer" else width)


@pytest.mark.parametrize("name", CELLS)
def test_a_loop_over_the_cell_gives_what_the_layer_gives(name):
    x, dt, lengths = signals(SHAPE)
    layer, loop = CONTENDERS[name], CONTENDERS[f"{name}{LOOP}"]
    whole, plain = layer.make(SHAPE), loop.make(SHAPE)
    plain.load_state_dict(whole.state_dict())
    y = whole.run(x, dt, lengths)
    with using_backend(loop.backend):
        torch.testing.assert_close(plain.run(x, dt, lengths), y)


def test_torch_cells_share_the_weights_of_their_layer():
    x, dt, _ = signals(SHAPE)
    for make in (networks.torch_lstm, networks.torch_gru, networks.torch_rnn):
        network = make(SHAPE)
        state = None
        for k in range(SHAPE.T):
            state = network.step(x[:, k], state, dt[:, k])
        h = state[0] if isinstance(state, tuple) else state
        torch.testing.assert_close(h, network.run(x, dt)[:, -1])
        assert len(list(network.parameters())) == 4


def test_transformer_step_equals_the_whole():
    torch.manual_seed(1)
    net = CausalTransformer(3, 8).eval()
    x = torch.randn(2, 7, 3)
    whole = net(x)
    y, cache = net.step(x[:, -1], net.begin(x[:, :-1]))
    torch.testing.assert_close(y, whole[:, -1])
    assert cache[0].shape == (2, 4, 7, 2)


def test_transformer_does_not_see_the_future():
    torch.manual_seed(1)
    net = CausalTransformer(3, 8)
    x = torch.randn(2, 7, 3)
    torch.testing.assert_close(net(x)[:, :4], net(x[:, :4]))


def test_ode_rnn_follows_its_equation_with_every_series_own_time():
    pytest.importorskip("torchdiffeq")
    torch.manual_seed(1)
    net = ODERNN(2, 4, 6).double()
    x, dt = torch.randn(3, 2, dtype=torch.float64), torch.tensor([0.1, 1.0, 3.0], dtype=torch.float64)
    h = torch.randn(3, 4, dtype=torch.float64)

    def drive(v):
        return torch.zeros_like(v), net.field(v)

    exact = net.cell(x, RK4().integrate(drive, h, dt.unsqueeze(1), 256))
    torch.testing.assert_close(net.step(x, h, dt), exact, rtol=2e-3, atol=2e-3)


def test_lengths_are_spread_evenly():
    _, _, lengths = signals(Shape(64, 32, 1, 1))
    assert sorted(lengths.tolist()) == sorted([*range(1, 33)] * 2)
    assert lengths.tolist() != sorted(lengths.tolist())


def test_our_ltc_and_theirs_have_the_same_synapses():
    pytest.importorskip("ncps")
    shape = Shape(2, 3, 5, 16, outputs=2)
    graph = networks.our_ltc(shape).layer.cells[0].wiring.build(5)
    theirs = networks.ncps_ltc(shape).rnn._wiring
    assert abs(graph.adjacency).sum() == abs(theirs.adjacency_matrix).sum() > 0
    assert abs(graph.sensory).sum() == abs(theirs.sensory_adjacency_matrix).sum() > 0


@pytest.mark.extras
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_jax_trains_the_same_network(layers, monkeypatch):
    pytest.importorskip("jax")
    call = jax_cfc.training_step(Shape(3, 5, 2, 4, 6, layers=layers))  # compares outputs and gradients itself
    y, grads = call()
    assert y.shape == (5, 3, 4)
    assert len(grads) == layers + 1
    monkeypatch.setattr(jax_cfc, "our_cfc", lambda shape: networks.Ours(lt.CfC(2, 4, variant="no_gate")))
    with pytest.raises(AssertionError, match="outputs of JAX differ"):
        jax_cfc.training_step(Shape(3, 5, 2, 4, 6))
