"""The tables that live series are read by, against the networks' own read-out."""

import copy

import numpy as np
import pytest
import torch

import liquidtime as lt
from estimators.small import TINY
from liquidtime.estimators.live import read_out
from liquidtime.estimators.live.read_out import ReadOuts
from oracles.series import random_set

SAMPLES = [(t, {"a": float(np.sin(t)), "k": "mid", "b": 3.0 * t}) for t in (0.0, 0.4, 0.4, 7.0, 900.0)]


@pytest.fixture(scope="module")
def model():
    data = random_set(0, [60, 50, 1, 0, 70, 55] * 2)
    return lt.CfCClassifier(**TINY | {"epochs": 1, "batch_size": 8, "n_estimators": 3, "bin_width": None}).fit(
        data, np.arange(len(data)) % 3
    )


def answers(model):
    model.reset()
    return np.array([model.update("one", *sample) for sample in SAMPLES])


def by_pieces(model, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(read_out, "_FEW", 0)
        return answers(model)


def test_a_table_gives_what_the_pieces_give(model, monkeypatch):
    calls = []
    read = read_out._Tables.read
    monkeypatch.setattr(read_out._Tables, "read", lambda *given: calls.append(1) or read(*given))
    by_table = answers(model)
    assert len(calls) == len(SAMPLES)
    np.testing.assert_allclose(by_table, by_pieces(model, monkeypatch), rtol=0, atol=1e-6)


def change_in_place(network):
    with torch.no_grad():
        network.hidden.weight.mul_(3.0)


def replace_weight(network):
    network.read_out.weight = torch.nn.Parameter(network.read_out.weight.detach() * 3.0)


def replace_data(network):
    network.hidden.bias.data = network.hidden.bias.data + 1.0


def replace_layer(network):
    network.read_out = copy.deepcopy(network.read_out)
    with torch.no_grad():
        network.read_out.weight *= 3.0


def move_a_knot(network):
    network.pieces.low.sub_(0.3)


def hook(network):
    network.hidden.register_forward_hook(lambda module, given, result: result + 1.0)


@pytest.mark.parametrize("change", [change_in_place, replace_weight, replace_data, replace_layer, move_a_knot, hook])
def test_every_change_of_the_read_out_is_seen(model, monkeypatch, change):
    other = copy.deepcopy(model)
    before = answers(other)
    change(other.networks_[1])
    after = answers(other)
    assert np.abs(after - before).max() > 1e-4
    np.testing.assert_allclose(after, by_pieces(other, monkeypatch), rtol=0, atol=1e-6)


def test_members_with_other_pieces_are_read_one_by_one(model, monkeypatch):
    other = copy.deepcopy(model)
    other.networks_[2].pieces.low[3:4].sub_(0.01)
    outs = ReadOuts(other.networks_)
    step = other._live._start(None)._steps[0]
    assert read_out._Tables(step.networks).joint is None
    np.testing.assert_allclose(answers(other), by_pieces(other, monkeypatch), rtol=0, atol=1e-6)
    assert outs._tables is None
