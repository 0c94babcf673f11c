"""The cells that every contract test runs over, found in `liquidtime.cells` itself."""

import inspect

from liquidtime import cells, wirings

D, H = 3, 5
NCP = wirings.NCP(6, 4, 2, 3, 2, 3, 2)

# Cells that cannot be made from (input_size, hidden_size), and options worth their own run.
MADE_OTHERWISE = {
    "ImputeGRUCell": {
        "ImputeGRUCell": lambda d: cells.ImputeGRUCell(d, H, masks=[1], mean=[0.4]),
        "ImputeGRUCell-no-others": lambda d: cells.ImputeGRUCell(d, H, masks=[2, 2]),
    },
    "MixedMemory": {
        "MixedMemory-hidden": lambda d: cells.MixedMemory(cells.CfCCell(d, H, backbone_units=4)),
        "MixedMemory-input": lambda d: cells.MixedMemory(
            cells.CfCCell(H, H, backbone_units=4), "input", input_size=d, forget_bias=0.6
        ),
        "MixedMemory-of-LTC": lambda d: cells.MixedMemory(cells.LTCCell(d, wiring=NCP, unfolds=2)),
        "MixedMemory-of-LSTM": lambda d: cells.MixedMemory(cells.LSTMCell(d, H)),
        "MixedMemory-of-CT-LSTM": lambda d: cells.MixedMemory(cells.CTLSTMCell(d, H)),
    },
    "WiredCfCCell": {
        "WiredCfCCell-NCP": lambda d: cells.WiredCfCCell(d, NCP),
        "WiredCfCCell-random-cf_s": lambda d: cells.WiredCfCCell(d, wirings.Random(H, 2, 0.4), cells.CfSCell),
    },
}
OPTIONS = {
    "CfCCell-literal": lambda d: cells.CfCCell(d, H, gate_bias=False, backbone_units=4, head_activation="lecun_tanh"),
    "CfCCell-deep": lambda d: cells.CfCCell(d, H, backbone_units=4, backbone_layers=3, backbone_activation="gelu"),
    "CfCCell-flat": lambda d: cells.CfCCell(d, H, backbone_layers=0),
    "CfSPaperCell-state": lambda d: cells.CfSPaperCell(d, H, amplitude="state", backbone_units=4),
    "CTGRUCell-short": lambda d: cells.CTGRUCell(d, H, scales=3, shortest=0.1),
    "CTRNNCell-rk4": lambda d: cells.CTRNNCell(d, H, solver="rk4", unfolds=2),
    "CTRNNCell-hold": lambda d: cells.CTRNNCell(d, H, solver="hold", time_constant=0.3),
    "CoRNNCell-unfolded": lambda d: cells.CoRNNCell(d, H, step=1.0, unfolds=3),
    "GRUDCell-masks": lambda d: cells.GRUDCell(d, H, masks=[1], mean=[0.4]),
    "GRUODECell-rk4": lambda d: cells.GRUODECell(d, H, solver="rk4", unfolds=1),
    "LipschitzRNNCell-rk4": lambda d: cells.LipschitzRNNCell(d, H, beta=1.0, step=1.0, solver="rk4", unfolds=2),
    "ODELSTMCell-euler": lambda d: cells.ODELSTMCell(d, H, 7, "euler", 3),
    "ODERNNCell-euler": lambda d: cells.ODERNNCell(d, H, 7, "euler", 3),
    "HiPPOLegSCell-order": lambda d: cells.HiPPOLegSCell(d, H, order=1),
    "HiPPOLagTCell-order": lambda d: cells.HiPPOLagTCell(d, H, order=9, theta=0.5),
    "LMUCell-order": lambda d: cells.LMUCell(d, H, order=7, theta=2.0),
    "LTCCell-NCP": lambda d: cells.LTCCell(d, wiring=NCP),
    "LTCCell-euler": lambda d: cells.LTCCell(d, H, solver="euler", unfolds=8),
    "LTCCell-rk4": lambda d: cells.LTCCell(d, H, solver="rk4", unfolds=3),
    "LTCCell-hold": lambda d: cells.LTCCell(d, H, solver="hold", unfolds=1),
    "LTCCell-midpoint": lambda d: cells.LTCCell(d, H, solver="midpoint", unfolds=1),
}
# Cells that round in the forward pass and pretend in the backward pass that they do not.
STRAIGHT_THROUGH = {"SkipLSTMCell": "liquidtime.baselines.recurrent.skip_lstm.straight_through"}


def find():
    """Return {name: function from the number of inputs to a cell} for every concrete cell of the package."""
    found = {}
    for name in cells.__all__:
        kind = getattr(cells, name)
        if not inspect.isclass(kind) or not issubclass(kind, cells.Cell) or inspect.isabstract(kind):
            continue
        found |= MADE_OTHERWISE.get(name, {name: lambda d, kind=kind: kind(d, H)})
    return found | OPTIONS


SUBJECTS = find()
