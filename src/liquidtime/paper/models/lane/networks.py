"""The network after the head in each row of the lane-keeping table."""

from __future__ import annotations

from typing import Any

from torch import nn

from liquidtime.cells import LSTMCell
from liquidtime.layers import LTC, CfC, Recurrent
from liquidtime.paper.fitting import Settings
from liquidtime.paper.models.lane.convolution import FEATURES, FLAT
from liquidtime.paper.models.lane.model import LaneModel
from liquidtime.wirings import NCP


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
    """Return an LSTM with a linear read-out, without time."""
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
    """Return a CfC on the circuit with an LSTM, whose memory it reads in place of the features."""
    return cfc(settings, mixed_memory="input")


def dense_network(settings: Settings) -> nn.Module:
    """Return the dense layers of the plain network for single images: 1920 -> H -> H/10 -> 1."""
    H = settings.hidden_size
    narrow = max(H // 10, 1)
    return nn.Sequential(nn.Linear(FLAT, H), nn.ReLU(), nn.Linear(H, narrow), nn.ReLU(), nn.Linear(narrow, 1))


LANE_MODELS = {
    "cnn": LaneModel("cnn", "CNN", ("CNN",), dense_network, flat=True),
    "lstm": LaneModel("lstm", "LSTM", ("LSTM",), lstm),
    "ncp": LaneModel("ncp", "NCP (LTC)", ("NCP",), ncp, kept=True),
    "cf_s": LaneModel("cf_s", "Cf-S", ("Cf-S",), cf_s),
    "no_gate": LaneModel("no_gate", "CfC-noGate", ("CfC-NoGate",), no_gate),
    "cfc": LaneModel("cfc", "CfC", ("CfC",), cfc),
    "mm_rnn": LaneModel("mm_rnn", "CfC-mmRNN", ("CfC-mmRNN",), mm_rnn),
}
