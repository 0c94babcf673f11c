"""Every cell against plain numpy, row by row."""

import itertools

import numpy as np
import pytest
import torch

from liquidtime import cells, wirings
from liquidtime.cells.backbone import DROPOUT_PLACEMENTS, Backbone
from oracles import steps

B, D, H, U = 4, 3, 5, 6


def shake(cell):
    """Move every parameter away from its initial value, so that nothing is hidden by a 0 or a 1."""
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return cell.double().eval()


def headed(cell):
    weight = cell.heads.weight if cell.mask is None else cell.heads.weight * cell.mask
    p = {
        "backbone": [(n(layer.weight), n(layer.bias)) for layer in cell.backbone.layers],
        "activation": cell.backbone.activation,
        "W": n(weight),
        "b": n(cell.heads.bias),
    }
    for name in ("head_activation", "A", "w_tau", "B"):
        value = getattr(cell, name, None)
        p[name] = n(value) if isinstance(value, torch.Tensor) else value
    return p


def n(tensor):
    return tensor.detach().double().numpy()


def check(cell, oracle, inputs=D):
    x, h = torch.randn(B, inputs).double(), torch.randn(B, cell.hidden_size).double()
    dt = torch.rand(B).double() * 2
    y, (after,) = cell(x, (h,), dt)
    for i in range(B):
        np.testing.assert_allclose(n(after[i]), oracle(n(x[i]), n(h[i]), float(dt[i])), rtol=1e-10, atol=1e-12)
    return y, after


@pytest.mark.parametrize("activation", cells.backbone.ACTIVATIONS)
@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("kind", ["cfc", "no_gate", "cf_s", "cf_s_paper"])
def test_family(kind, depth, activation):
    options = {"backbone_units": U, "backbone_layers": depth, "backbone_activation": activation}
    cell = shake(cells.VARIANTS[kind](D, H, **options))
    oracle = {
        "cfc": steps.cfc,
        "no_gate": steps.cfc_no_gate,
        "cf_s": steps.cf_s,
        "cf_s_paper": steps.cf_s_paper,
    }[kind]
    check(cell, lambda x, h, dt: oracle(x, h, dt, headed(cell)))


@pytest.mark.parametrize("kind", ["cfc", "no_gate"])
def test_gates_start_as_switches_spread_over_time(kind):
    """With all weights at 0 the gate of unit j is ½ at its own time and a step of slope 2H/(last - first) around it."""
    cell = cells.VARIANTS[kind](D, 8, switch_times=(1.0, 5.0), backbone_units=U)
    with torch.no_grad():
        cell.heads.weight.zero_()
        at = 1.0 + 4.0 * (torch.arange(8) + 0.5) / 8
        for j, time in enumerate(at.tolist()):
            _, _, s = cell.gates(torch.zeros(1, D), torch.zeros(1, 8), torch.full((1, 1), time))
            np.testing.assert_allclose(s[0], 1 / (1 + np.exp(-4.0 * (time - at.numpy()))), rtol=1e-5)
            assert s[0, j].item() == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"switch_times": (1.0, 5.0), "gate_bias": False}, "`switch_times` needs the head c of the gate"),
        ({"switch_times": (5.0, 1.0)}, "the smaller one first; got \\(5.0, 1.0\\)"),
        ({"switch_times": (-1.0, 1.0)}, "two times of at least 0"),
    ],
)
def test_switch_times_that_cannot_be_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        cells.CfCCell(D, H, **options)


@pytest.mark.parametrize("gate_bias", [True, False])
@pytest.mark.parametrize("head_activation", ["tanh", "lecun_tanh"])
@pytest.mark.parametrize(("kind", "oracle"), [("cfc", steps.cfc), ("no_gate", steps.cfc_no_gate)])
def test_heads(kind, oracle, head_activation, gate_bias):
    cell = shake(cells.VARIANTS[kind](D, H, gate_bias=gate_bias, head_activation=head_activation, backbone_units=U))
    assert cell.heads.out_features == (4 if gate_bias else 3) * H
    check(cell, lambda x, h, dt: oracle(x, h, dt, headed(cell)))


def test_cf_s_of_the_paper_with_the_state_as_amplitude():
    cell = shake(cells.CfSPaperCell(D, H, amplitude="state", backbone_units=U))
    check(cell, lambda x, h, dt: steps.cf_s_paper(x, h, dt, headed(cell)))


def test_cf_s_of_the_paper_keeps_the_lemmas_conditions():
    cell = shake(cells.CfSPaperCell(D, H, backbone_units=U))
    with torch.no_grad():
        cell.w_tau.fill_(-3.0)
        cell.A.zero_()
        cell.B.fill_(1.0)
        far = torch.full((1, D), 50.0).double()
        late, _ = cell(far, (torch.zeros(1, H).double(),), torch.tensor([1e4]).double())
        early, _ = cell(far, (torch.zeros(1, H).double(),), torch.tensor([0.0]).double())
    assert torch.all(late.abs() < 1e-12)  # wτ > 0, so that every term dies out
    assert torch.all((early >= 0) & (early <= 1))  # f in (0, 1)


def test_cf_s_starts_as_the_reference_does():
    cell = cells.CfSCell(D, H)
    assert torch.equal(cell.A.data, torch.ones(H))
    assert torch.equal(cell.w_tau.data, torch.zeros(H))


def test_lstm_gru_rnn():
    lstm = shake(cells.LSTMCell(D, H, forget_bias=0.6))
    x, h, m = torch.randn(B, D).double(), torch.randn(B, H).double(), torch.randn(B, H).double()
    _, (h_new, m_new) = lstm(x, (h, m), torch.ones(B))
    W, b, R = n(lstm.input_map.weight), n(lstm.input_map.bias), n(lstm.recurrent_map.weight)
    for i in range(B):
        h_i, m_i = steps.lstm(n(x[i]), n(h[i]), n(m[i]), W, b, R, 0.6)
        np.testing.assert_allclose(n(h_new[i]), h_i, rtol=1e-10)
        np.testing.assert_allclose(n(m_new[i]), m_i, rtol=1e-10)
    gru = shake(cells.GRUCell(D, H))
    W, b, R = n(gru.input_map.weight), n(gru.input_map.bias), n(gru.recurrent_map.weight)
    check(gru, lambda x, h, dt: steps.gru(x, h, W, b, R, n(gru.recurrent_bias)))
    rnn = shake(cells.RNNCell(D, H))
    W, b, R = n(rnn.input_map.weight), n(rnn.input_map.bias), n(rnn.recurrent_map.weight)
    check(rnn, lambda x, h, dt: steps.rnn(x, h, W, b, R))


@pytest.mark.parametrize("structure", ["hidden", "input"])
def test_mixed_memory(structure):
    inner = cells.CfCCell(H if structure == "input" else D, H, backbone_units=U)
    cell = shake(cells.MixedMemory(inner, structure, input_size=D, forget_bias=0.6))
    x, h, m = torch.randn(B, D).double(), torch.randn(B, H).double(), torch.randn(B, H).double()
    dt = torch.rand(B).double()
    y, (h_new, m_new) = cell(x, (h, m), dt)
    lstm = cell.lstm
    W, b, R = n(lstm.input_map.weight), n(lstm.input_map.bias), n(lstm.recurrent_map.weight)
    for i in range(B):
        o, m_i = steps.lstm(n(x[i]), n(h[i]), n(m[i]), W, b, R, 0.6)
        arguments = (n(x[i]), o) if structure == "hidden" else (o, n(h[i]))
        np.testing.assert_allclose(n(h_new[i]), steps.cfc(*arguments, float(dt[i]), headed(inner)), rtol=1e-10)
        np.testing.assert_allclose(n(m_new[i]), m_i, rtol=1e-10)
    assert torch.equal(y, h_new)


def synapses(module):
    return {name: n(getattr(module, name)) for name in ("w", "gamma", "mu", "E", "mask")}


@pytest.mark.parametrize("wiring", [None, wirings.NCP(6, 4, 2, 3, 2, 3, 2), wirings.Random(5, 2, 0.5)])
@pytest.mark.parametrize("unfolds", [1, 6])
def test_ltc(wiring, unfolds):
    cell = shake(cells.LTCCell(D, H if wiring is None else None, wiring, unfolds=unfolds))
    p = {name: n(value) for name, value in cell.named_parameters(recurse=False)}
    p |= {"sensory": synapses(cell.sensory), "recurrent": synapses(cell.recurrent)}
    y, v = check(cell, lambda x, h, dt: steps.ltc(x, h, dt, p, unfolds))
    motor = v[:, : cell.output_size]
    torch.testing.assert_close(y, motor * cell.output_weight + cell.output_bias)


@pytest.mark.parametrize("solver", cells.ltc.SOLVERS)
def test_ltc_stands_still_over_no_time(solver):
    cell = shake(cells.LTCCell(D, H, solver=solver))
    x, v = torch.randn(B, D).double(), torch.randn(B, H).double()
    assert torch.equal(cell(x, (v,), torch.zeros(B).double())[1][0], v)


def test_ltc_starts_within_the_references_ranges():
    cell = cells.LTCCell(20, wiring=wirings.AutoNCP(28, 4))
    for value, (low, high) in (
        (cell.leak, (0.001, 1)),
        (cell.rest, (-0.2, 0.2)),
        (cell.capacitance, (0.4, 0.6)),
        (cell.recurrent.w, (0.001, 1)),
        (cell.sensory.gamma, (3, 8)),
        (cell.sensory.mu, (0.3, 0.8)),
    ):
        assert low <= n(value).min() < n(value).max() <= high
    graph = wirings.AutoNCP(28, 4).build(20)
    np.testing.assert_array_equal(n(cell.recurrent.E), graph.adjacency)
    np.testing.assert_array_equal(n(cell.sensory.E), graph.sensory)


class TestWiring:
    """Which neuron feels which, by the derivative of one step."""

    wiring = wirings.NCP(6, 4, 2, 3, 2, 3, 2)

    def derivatives(self, kind):
        cell = shake(cells.WiredCfCCell(D, self.wiring, cells.VARIANTS[kind]))
        x, h = torch.randn(D).double(), torch.randn(cell.hidden_size).double()

        def one(x, h):
            return cell(x[None], (h[None],), torch.ones(1).double())[1][0][0]

        return torch.func.jacrev(one, argnums=(0, 1))(x, h)

    @pytest.mark.parametrize("kind", cells.VARIANTS)
    def test_signals_flow_along_synapses_only(self, kind):
        by_input, by_state = self.derivatives(kind)
        graph = self.wiring.build(D)
        layer_of = {i: k for k, layer in enumerate(graph.layers) for i in layer}
        # An earlier layer's new state is read in the same step, so what reaches it reaches its readers too.
        reach = np.eye(graph.units, dtype=bool)
        for source, target in itertools.product(range(graph.units), repeat=2):
            if graph.adjacency[source, target] and layer_of[source] < layer_of[target]:
                reach[source, target] = True
        reach = np.linalg.matrix_power(reach.astype(int), 3) > 0
        own = np.eye(graph.units, dtype=bool)
        for source, target in itertools.product(range(graph.units), repeat=2):
            if graph.adjacency[source, target] and layer_of[source] >= layer_of[target]:
                own[source, target] = True
        np.testing.assert_array_equal((n(by_state) != 0).T, (own.astype(int) @ reach) > 0)
        np.testing.assert_array_equal((n(by_input) != 0).T, ((graph.sensory != 0).astype(int) @ reach) > 0)

    def test_polarity_is_the_sign_a_synapse_starts_with(self):
        graph = wirings.Adjacency([[0, 0], [-1, 0]], [[0, 1], [0, -1]], 1, layers=[[1], [0]])
        cell = cells.WiredCfCCell(2, graph)
        first, last = cell.cells
        weights = (first.heads.weight * first.mask).reshape(4, 1, 3)
        assert torch.all(weights[..., 0] > 0)
        assert torch.all(weights[..., 1] < 0)
        assert torch.all((last.heads.weight * last.mask).reshape(4, 1, 2)[..., 0] < 0)
        turned = wirings.Adjacency([[0, 0], [1, 0]], [[0, 1], [0, -1]], 1, layers=[[1], [0]])
        other = cells.WiredCfCCell(2, turned)
        other.load_state_dict({k: v for k, v in cell.state_dict().items() if "mask" not in k}, strict=False)
        x, h = torch.randn(1, 2), torch.randn(1, 2)
        assert not torch.equal(cell(x, (h,), torch.ones(1))[0], other(x, (h,), torch.ones(1))[0])

    def test_masks_are_on_all_heads(self):
        cell = cells.WiredCfCCell(D, self.wiring)
        for layer in cell.cells:
            heads = layer.mask.reshape(4, layer.hidden_size, -1)
            assert (heads == 0).any()
            assert torch.equal(heads, heads[:1].expand_as(heads))

    def test_state_and_outputs_are_in_the_order_of_neurons(self):
        cell = cells.WiredCfCCell(D, self.wiring)
        y, (h,) = cell(torch.randn(B, D), (torch.randn(B, 12),), torch.ones(B))
        assert torch.equal(y, h[:, :2])

    def test_one_wiring_for_two_cells_is_not_changed(self):
        before = self.wiring.to_json()
        first, second = cells.LTCCell(D, wiring=self.wiring), cells.WiredCfCCell(9, self.wiring)
        assert self.wiring.to_json() == before
        assert (first.input_size, second.input_size) == (D, 9)


def test_dropout_placement():
    torch.manual_seed(0)
    z = torch.randn(64, 8)
    zeros = {}
    for placement in DROPOUT_PLACEMENTS:
        one = Backbone(8, 16, 1, "tanh", 0.5, placement)(z)
        two = Backbone(8, 16, 2, "tanh", 0.5, placement)(z)
        zeros[placement] = (float((one == 0).float().mean()), float((two == 0).float().mean()))
    assert zeros["after_first"][0] == 0.0
    assert all(0.4 < share < 0.6 for share in (*zeros["every"], zeros["after_first"][1]))


def test_initial_weights_are_xavier_with_a_gain():
    torch.manual_seed(0)
    cell = cells.CfCCell(200, 100, backbone_units=300, init_gain=0.5)
    limit = 0.5 * (6 / (300 + 300)) ** 0.5
    assert 0.95 * limit < float(cell.backbone.layers[0].weight.data.abs().max()) <= limit
    limit = 0.5 * (6 / (300 + 100)) ** 0.5  # each head on its own, not the stack of four
    for head in cell.heads.weight.data.split(100):
        assert 0.95 * limit < float(head.abs().max()) <= limit
    assert not cell.heads.bias.any()
