"""Every whole-model count of the paper's settings, and the lane-keeping table."""

import pytest
from torch import nn

import liquidtime as lt


def weights(*modules):
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


# (variant, inputs, hidden, backbone units, backbone layers, mixed memory, embedded words, outputs, weights)
MODELS = {
    "xor-cf_s": ("cf_s", 1, 64, 64, 1, False, 0, 1, 8_577),
    "xor-cfc": ("cfc", 1, 192, 128, 1, False, 0, 1, 124_097),
    "xor-no_gate": ("no_gate", 1, 128, 192, 1, False, 0, 1, 123_905),
    "xor-mm": ("cfc", 1, 64, 128, 1, "input", 0, 1, 66_497),
    "physionet-cf_s": ("cf_s", 82, 64, 64, 3, False, 0, 2, 22_146),
    "physionet-cfc": ("cfc", 82, 256, 64, 2, False, 0, 2, 92_930),
    "physionet-no_gate": ("no_gate", 82, 64, 192, 2, False, 0, 2, 114_818),
    "physionet-mm": ("cfc", 82, 64, 64, 2, "hidden", 0, 2, 67_970),
    "imdb-cf_s": ("cf_s", 64, 320, 64, 1, False, 20_000, 10, 1_329_290),
    "imdb-cfc": ("cfc", 192, 192, 64, 2, False, 20_000, 10, 3_920_650),
    "imdb-no_gate": ("no_gate", 192, 224, 128, 1, False, 20_000, 10, 4_011_210),
    "imdb-mm": ("cfc", 32, 64, 64, 1, "input", 20_000, 10, 690_378),
    "walker2d-cf_s": ("cf_s", 17, 256, 192, 1, False, 0, 17, 106_897),
    "walker2d-cfc": ("cfc", 17, 64, 256, 1, False, 0, 17, 87_889),
    "walker2d-no_gate": ("no_gate", 17, 256, 128, 1, False, 0, 17, 171_537),
    "walker2d-mm": ("cfc", 17, 128, 128, 2, "input", 0, 17, 192_401),
}


@pytest.mark.parametrize("name", MODELS)
def test_whole_models(name):
    variant, D, H, U, depth, memory, words, outputs, expected = MODELS[name]
    network = lt.CfC(D, H, variant, backbone_units=U, backbone_layers=depth, mixed_memory=memory, proj_size=outputs)
    embedding = [nn.Embedding(words, D)] if words else []
    assert weights(network, *embedding) == expected


def convolutions():
    widths = [(3, 24, 5, 2), (24, 36, 5, 2), (36, 48, 3, 2), (48, 64, 3, 1), (64, 64, 3, 1)]
    return nn.Sequential(*(nn.Conv2d(i, o, k, s) for i, o, k, s in widths), nn.Flatten())


NCP = lt.wirings.NCP(12, 6, 1, 6, 4, 6, 6)
LANE_KEEPING = {
    "CNN": (2_124_901, None, lambda: None),
    "LSTM": (259_733, 33_089, lambda: lt.Recurrent(lambda d: lt.cells.LSTMCell(d, 64), 64, proj_size=1)),
    "NCP": (233_139, 6_495, lambda: lt.LTC(64, wiring=NCP)),
    "Cf-S": (227_728, 1_084, lambda: lt.CfC(64, wiring=NCP, variant="cf_s")),
    "CfC": (230_828, 4_184, lambda: lt.CfC(64, wiring=NCP)),
    "CfC-noGate": (230_828, 4_184, lambda: lt.CfC(64, wiring=NCP, variant="no_gate")),
    "CfC-mmRNN": (235_052, 8_408, lambda: lt.CfC(64, wiring=NCP, mixed_memory="input")),
}


@pytest.mark.parametrize("name", LANE_KEEPING)
def test_lane_keeping(name):
    total, recurrent, make = LANE_KEEPING[name]
    if recurrent is None:
        dense = [nn.Linear(1_920, 1_000), nn.Linear(1_000, 100), nn.Linear(100, 1)]
        assert weights(convolutions(), *dense) == total
    else:
        network = make()
        assert weights(network) == recurrent
        assert weights(convolutions(), nn.Linear(1_920, 64), network) == total
