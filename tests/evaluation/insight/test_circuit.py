"""Circuits have the connections of their wirings, with the weights of their networks."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

import liquidtime as lt
from estimators.small import TINY, series
from liquidtime.cells import WiredCfCCell

WIRING = lt.wirings.AutoNCP(12, 2, seed=3)


def links(circuit):
    return {(link.source, link.target): link.weight for link in circuit.links}


def test_a_wiring_is_drawn_with_its_polarity():
    found = lt.insight.circuit(WIRING, input_names=["angle", "speed"])
    graph = WIRING.build(2)
    for source, target in zip(*np.nonzero(graph.adjacency), strict=True):
        assert links(found)[f"neuron {source}", f"neuron {target}"] == graph.adjacency[source, target]
    assert len(found.links) == np.count_nonzero(graph.adjacency) + np.count_nonzero(graph.sensory)
    assert [neuron.kind for neuron in found.neurons].count("motor") == 2
    network = found.graph()
    assert network.nodes["neuron 0"]["kind"] == "motor"
    assert network.nodes["neuron 0"]["layer"] == 3
    places = found.positions()
    assert places["angle"][0] < places["neuron 11"][0] < places["neuron 0"][0]
    texts = [text.get_text() for text in found.plot().axes[0].texts]
    assert texts == ["angle", "speed"]


def test_synapses_of_an_ltc_have_their_conductance():
    layer = lt.LTC(2, wiring=WIRING)
    found = links(lt.insight.circuit(layer))
    part = layer.cells[0].recurrent
    expected = (part.conductances() * part.E).detach().numpy()
    for (source, target), weight in found.items():
        if source.startswith("neuron"):
            assert weight == pytest.approx(expected[int(source[7:]), int(target[7:])])


def test_derivatives_of_a_wired_cfc_lie_on_its_wiring():
    layer = lt.CfC(2, wiring=lt.wirings.Adjacency([[0, 1], [0, 0]], [[1, 0], [0, -1]]))
    found = links(lt.insight.circuit(layer, input_names=["a", "b"]))
    assert ("neuron 1", "neuron 0") not in found
    cell = layer.cells[0]
    x, h = torch.zeros(1, 2, requires_grad=True), torch.zeros(1, 2)
    _, (after,) = cell(x, (h,), torch.ones(1))
    (gradient,) = torch.autograd.grad(after[0, 0], x)
    assert found["a", "neuron 0"] == pytest.approx(float(gradient[0, 0]))


def test_a_model_has_channels_neurons_and_outputs_and_moves(tmp_path):
    data, labels, _ = series(24)
    model = lt.CfCClassifier(lambda width: WiredCfCCell(width, WIRING), **TINY | {"epochs": 1}).fit(data, labels)
    found = lt.insight.circuit(model, data, 5)
    kinds = [neuron.kind for neuron in found.neurons]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "input": 3,
        "motor": 2,
        "command": 4,
        "inter": 6,
        "output": 3,
    }
    assert {link.source for link in found.links if link.target == "b"} == {"neuron 0", "neuron 1"}
    assert found.activity.id == "5"
    assert found.activity.values.shape == (len(data[5].times), len(found.neurons))
    still = Image.open(io.BytesIO(found.gif(frames=3, dpi=30)))
    assert still.n_frames == 3
    page = found.animate(tmp_path / "moving.html", frames=2).read_text()
    assert "data:image/gif;base64," in page
    assert "http" not in page
    with pytest.raises(ValueError, match=r"must end in \.gif or \.html"):
        found.animate(tmp_path / "moving.mp4")


def test_refusals():
    with pytest.raises(ValueError, match="no activity"):
        lt.insight.circuit(WIRING, input_names=["a"]).gif()
    with pytest.raises(ValueError, match="`input_names` must name"):
        lt.insight.circuit(WIRING)
    with pytest.raises(ValueError, match="one name for each of 2"):
        lt.insight.circuit(lt.CfC(2, 3), input_names=["a"])
    with pytest.raises(TypeError, match="a wiring, a layer, a cell or an estimator"):
        lt.insight.circuit(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="`data` must be given"):
        lt.insight.circuit(lt.CfCClassifier())
