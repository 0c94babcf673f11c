"""The cells that every contract test runs over, found in the table of networks."""

from liquidtime import cells, wirings
from liquidtime.baselines import recurrent
from liquidtime.networks import NETWORKS

D, H = 3, 5
NCP = wirings.NCP(6, 4, 2, 3, 2, 3, 2)

# Cells that no line of the table makes, and options worth their own run.
OPTIONS = {
    "MixedMemory-hidden": lambda d: cells.MixedMemory(cells.CfCCell(d, H, backbone_units=4)),
    "MixedMemory-input": lambda d: cells.MixedMemory(
        cells.CfCCell(H, H, backbone_units=4), "input", input_size=d, forget_bias=0.6
    ),
    "MixedMemory-of-LTC": lambda d: cells.MixedMemory(cells.LTCCell(d, wiring=NCP, unfolds=2)),
    "MixedMemory-of-LSTM": lambda d: cells.MixedMemory(cells.LSTMCell(d, H)),
    "MixedMemory-of-CT-LSTM": lambda d: cells.MixedMemory(recurrent.CTLSTMCell(d, H)),
    "WiredCfCCell-NCP": lambda d: cells.WiredCfCCell(d, NCP),
    "WiredCfCCell-random-cf_s": lambda d: cells.WiredCfCCell(d, wirings.Random(H, 2, 0.4), cells.CfSCell),
    "ImputeGRUCell-mean": lambda d: recurrent.ImputeGRUCell(d, H, masks=[1], mean=[0.4]),
    "ImputeGRUCell-no-others": lambda d: recurrent.ImputeGRUCell(d, H, masks=[2, 2]),
    "CfCCell-literal": lambda d: cells.CfCCell(d, H, gate_bias=False, backbone_units=4, head_activation="lecun_tanh"),
    "CfCCell-deep": lambda d: cells.CfCCell(d, H, backbone_units=4, backbone_layers=3, backbone_activation="gelu"),
    "CfCCell-flat": lambda d: cells.CfCCell(d, H, backbone_layers=0),
    "CfSPaperCell-state": lambda d: cells.CfSPaperCell(d, H, amplitude="state", backbone_units=4),
    "CTGRUCell-short": lambda d: recurrent.CTGRUCell(d, H, scales=3, shortest=0.1),
    "CTRNNCell-rk4": lambda d: recurrent.CTRNNCell(d, H, solver="rk4", unfolds=2),
    "CTRNNCell-hold": lambda d: recurrent.CTRNNCell(d, H, solver="hold", time_constant=0.3),
    "CoRNNCell-unfolded": lambda d: recurrent.CoRNNCell(d, H, step=1.0, unfolds=3),
    "GRUDCell-masks": lambda d: recurrent.GRUDCell(d, H, masks=[1], mean=[0.4]),
    "GRUODECell-rk4": lambda d: recurrent.GRUODECell(d, H, solver="rk4", unfolds=1),
    "LipschitzRNNCell-rk4": lambda d: recurrent.LipschitzRNNCell(d, H, beta=1.0, step=1.0, solver="rk4", unfolds=2),
    "ODELSTMCell-euler": lambda d: recurrent.ODELSTMCell(d, H, 7, "euler", 3),
    "ODERNNCell-euler": lambda d: recurrent.ODERNNCell(d, H, 7, "euler", 3),
    "HiPPOLegSCell-order": lambda d: recurrent.HiPPOLegSCell(d, H, order=1),
    "HiPPOLegSCell-as-its-code": lambda d: recurrent.HiPPOLegSCell(d, H, discretisation="bilinear", memory_first=True),
    "HiPPOLegSCell-stamped": lambda d: recurrent.HiPPOLegSCell(d, H, discretisation="stamped"),
    "HiPPOLagTCell-tilt": lambda d: recurrent.HiPPOLagTCell(d, H, theta=2.0, tilt=0.0),
    "PhasedLSTMCell-full-peepholes": lambda d: recurrent.PhasedLSTMCell(d, H, full_peepholes=True),
    "HiPPOLagTCell-as-its-code": lambda d: recurrent.HiPPOLagTCell(
        d, H, theta=2.0, discretisation="bilinear", memory_first=True
    ),
    "GRUDCell-undecayed": lambda d: recurrent.GRUDCell(d, H, masks=[1], mix="undecayed"),
    "CoRNNCell-explicit": lambda d: recurrent.CoRNNCell(d, H, implicit=False),
    "HiPPOLagTCell-order": lambda d: recurrent.HiPPOLagTCell(d, H, order=9, theta=0.5),
    "LMUCell-order": lambda d: recurrent.LMUCell(d, H, order=7, theta=2.0),
    "LTCCell-NCP": lambda d: cells.LTCCell(d, wiring=NCP),
    "LTCCell-euler": lambda d: cells.LTCCell(d, H, solver="euler", unfolds=8),
    "LTCCell-rk4": lambda d: cells.LTCCell(d, H, solver="rk4", unfolds=3),
    "LTCCell-hold": lambda d: cells.LTCCell(d, H, solver="hold", unfolds=1),
    "LTCCell-midpoint": lambda d: cells.LTCCell(d, H, solver="midpoint", unfolds=1),
}
# Options that set numbers, or a solver that another subject has: a tracer, which is slow, meets nothing new in them.
TRACED_ALIKE = {
    "ImputeGRUCell-mean", "ImputeGRUCell-no-others", "CfCCell-literal", "CfCCell-deep",
    "CTGRUCell-short", "CTRNNCell-rk4", "CTRNNCell-hold", "CoRNNCell-unfolded", "GRUODECell-rk4",
    "LipschitzRNNCell-rk4", "HiPPOLegSCell-as-its-code", "HiPPOLagTCell-as-its-code", "GRUDCell-undecayed",
    "CoRNNCell-explicit", "HiPPOLegSCell-stamped", "HiPPOLagTCell-tilt", "PhasedLSTMCell-full-peepholes",
    "ODELSTMCell-euler", "ODERNNCell-euler", "HiPPOLegSCell-order", "HiPPOLagTCell-order", "LMUCell-order",
    "MixedMemory-of-LSTM", "MixedMemory-of-CT-LSTM", "LTCCell-NCP",
}  # fmt: skip
assert set(OPTIONS) >= TRACED_ALIKE
# Networks that round in the forward pass and pretend in the backward pass that they do not.
STRAIGHT_THROUGH = {"skip_lstm": "liquidtime.baselines.recurrent.skip_lstm.straight_through"}


def find():
    """Return {name: function from the number of inputs to a cell} for every network with single steps, and options."""
    named = {name: entry for name, entry in NETWORKS.items() if not entry.reads_series}
    masks = {name: [1] if entry.masks == "required" else [] for name, entry in named.items()}
    return {name: lambda d, name=name: named[name].cell(d, H, masks=masks[name]) for name in named} | OPTIONS


SUBJECTS = find()
