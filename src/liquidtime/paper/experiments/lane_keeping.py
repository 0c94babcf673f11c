"""Lane keeping: steering from images, table of weights and figure of attention."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch import nn

from liquidtime.cells import LSTMCell
from liquidtime.layers import LTC, CfC, Recurrent
from liquidtime.paper.experiments.experiment import Experiment, Row
from liquidtime.paper.lane.convolution import FEATURES
from liquidtime.paper.lane.loading import load
from liquidtime.paper.lane.model import LaneModel, dense_network
from liquidtime.paper.settings import Settings
from liquidtime.paper.task import PYTORCH, Task
from liquidtime.wirings import NCP

TASK = Task("mse", 1, PYTORCH, per_step=True, patience=12)
SETTINGS = Settings(
    optimizer="adam",
    batch_size=32,
    hidden_size=19,
    epochs=24,
    base_lr=0.01,
    decay_lr=0.88,
    clipnorm=1,
    weight_decay=0.0,
)
LSTM = dataclasses.replace(SETTINGS, hidden_size=64, base_lr=0.003)
DENSE = dataclasses.replace(SETTINGS, hidden_size=1000, epochs=4, base_lr=0.0003, decay_lr=0.5)


def wiring(settings: Settings) -> NCP:
    """Return the circuit: of 19 neurons 12 are inter, 6 command and 1 motor, with 253 synapses on 64 inputs."""
    command = max((settings.hidden_size - 1) // 3, 1)
    inter = settings.hidden_size - 1 - command
    return NCP(
        inter,
        command,
        1,
        sensory_fanout=min(3, inter),
        inter_fanout=min(4, command),
        recurrent_command_synapses=min(7, command**2),
        motor_fanin=min(6, command),
    )


def lstm(settings: Settings) -> nn.Module:
    """Return an LSTM with a linear read-out; it knows no time."""
    return Recurrent(lambda width: LSTMCell(width, settings.hidden_size), FEATURES, proj_size=1)


def ncp(settings: Settings) -> nn.Module:
    """Return a liquid network on the circuit."""
    return LTC(FEATURES, wiring=wiring(settings))


def cfc(settings: Settings, **options: Any) -> nn.Module:
    """Return a CfC on the circuit."""
    return CfC(FEATURES, wiring=wiring(settings), **options)


def cf_s(settings: Settings) -> nn.Module:
    """Return a Cf-S on the circuit."""
    return cfc(settings, variant="cf_s")


def no_gate(settings: Settings) -> nn.Module:
    """Return a CfC-noGate on the circuit."""
    return cfc(settings, variant="no_gate")


def mm_rnn(settings: Settings) -> nn.Module:
    """Return a CfC on the circuit beside the memory of an LSTM, which it reads in place of the features."""
    return cfc(settings, mixed_memory="input")


MODELS = {
    "cnn": LaneModel("cnn", "CNN", ("CNN",), dense_network, flat=True),
    "lstm": LaneModel("lstm", "LSTM", ("LSTM",), lstm),
    "ncp": LaneModel("ncp", "NCP (LTC)", ("NCP",), ncp, kept=True),
    "cf_s": LaneModel("cf_s", "Cf-S", ("Cf-S",), cf_s),
    "no_gate": LaneModel("no_gate", "CfC-noGate", ("CfC-NoGate",), no_gate),
    "cfc": LaneModel("cfc", "CfC", ("CfC",), cfc),
    "mm_rnn": LaneModel("mm_rnn", "CfC-mmRNN", ("CfC-mmRNN",), mm_rnn),
}
GIVEN = {"lstm": LSTM, "cnn": DENSE}
JOINTLY = "head trained along"
ROWS = {name: Row(model, GIVEN.get(name, SETTINGS), "head frozen") for name, model in MODELS.items()} | {
    f"{name}_joint": Row(
        dataclasses.replace(model, joint=True, kept=False),
        GIVEN.get(name, SETTINGS),
        "frozen first, then on the images of a quarter of the windows with the head trained along",
        JOINTLY,
    )
    for name, model in MODELS.items()
}

LANE_KEEPING = Experiment(
    "lane-keeping",
    "Lane keeping, driving simulator",
    TASK,
    load,
    {"honest": {"protocol": "honest"}},
    ROWS,
    (),
    digits=5,
)
