"""The models of the tables: a new one is a line here and a line in each experiment that has settings for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from liquidtime.baselines import BASELINES, SequenceModel
from liquidtime.baselines.recurrent import (
    BidirectionalRNNCell,
    CoRNNCell,
    CTGRUCell,
    CTLSTMCell,
    CTRNNCell,
    DecayGRUCell,
    ExpRNNCell,
    GRUDCell,
    GRUODECell,
    HiPPOLagTCell,
    HiPPOLegSCell,
    ImputeGRUCell,
    LipschitzRNNCell,
    LMUCell,
    ODELSTMCell,
    ODERNNCell,
    PhasedLSTMCell,
    ReLUGRUCell,
    SkipLSTMCell,
)
from liquidtime.baselines.recurrent.decay import InputDecay
from liquidtime.cells import Cell
from liquidtime.layers import LTC, CfC, Recurrent
from liquidtime.paper.datasets import Sequences
from liquidtime.paper.datasets.imdb import LONGEST
from liquidtime.paper.fitting import Settings, Task
from liquidtime.paper.models.boosting import BoostingModel
from liquidtime.paper.models.estimator import EstimatorModel
from liquidtime.paper.models.network import Discrete
from liquidtime.paper.models.network_model import NetworkModel

Model = NetworkModel | BoostingModel | EstimatorModel
Make = Callable[[int, Settings, Task], Recurrent | Discrete | SequenceModel]


def _cfc(variant: str, *, heads_squashed: bool = True, memory: str | None = None, **options: Any) -> Make:
    def make(D: int, settings: Settings, task: Task) -> CfC:
        framework = task.framework
        more = dict(options)
        if heads_squashed:
            more |= {"head_activation": framework.head_activation, "switch_times": settings.switch_times}
        if memory is not None:
            structure = framework.memory if memory == "framework" else memory
            more |= {"mixed_memory": structure, "forget_bias": settings.forget_bias}
        return CfC(
            D,
            settings.hidden_size,
            variant,
            backbone_units=_given(settings.backbone_units, "backbone_units"),
            backbone_layers=_given(settings.backbone_layers, "backbone_layers"),
            backbone_activation=_given(settings.backbone_activation, "backbone_activation"),
            backbone_dropout=_given(settings.backbone_dr, "backbone_dr"),
            dropout_placement=framework.dropout_placement,
            init_gain=1.0 if settings.init is None else settings.init,
            **more,
        )

    return make


def _mixed(title: str, paper: tuple[str, ...], memory: str) -> NetworkModel:
    return NetworkModel(title, paper, _cfc("cfc", memory=memory), penalised=True, dt_without_time=0.0)


def _given(value: Any, name: str) -> Any:
    if value is None:
        raise ValueError(f"`{name}` must be set for a network with a backbone; the settings have none.")
    return value


def _ltc(D: int, settings: Settings, task: Task) -> LTC:
    return LTC(D, settings.hidden_size)


def _discrete(kind: type[nn.LSTM] | type[nn.GRU] | type[nn.RNN]) -> Make:
    return lambda D, settings, task: Discrete(kind, D, settings.hidden_size, task.has_time)


def _cell(make: Callable[[int, Settings], Cell]) -> Make:
    return lambda D, settings, task: Recurrent(lambda width: make(width, settings), D)


def _interval(settings: Settings) -> float:
    return 1.0 if settings.sample_interval is None else settings.sample_interval


def _phased_lstm(D: int, settings: Settings) -> Cell:
    """Return a cell with periods far beyond a series, so that some units stay open: short ones read little each."""
    shortest = _interval(settings)
    return PhasedLSTMCell(D, settings.hidden_size, periods=(shortest, 1000 * shortest), open_ratio=0.1)


def _second_half(D: int) -> range:
    """Return the columns of the masks where as many values stand before them."""
    return range(D // 2, D)


def _set_means(recurrent: nn.Module, part: Sequences) -> None:
    """Give every part that decays values the means of those that were observed in training."""
    inside = (torch.arange(part.x.shape[1]) < part.lengths.unsqueeze(1)).unsqueeze(-1)
    for module in recurrent.modules():
        if isinstance(module, InputDecay):
            observed = inside * part.x.index_select(-1, module.masks)
            total = (observed * part.x[..., : module.size]).sum(dim=(0, 1))
            module.mean.copy_(total / observed.sum(dim=(0, 1)).clamp(min=1.0))


HOURS = 48.0
"""The span of the medical series."""
LATENT: dict[str, Any] = {
    "latent_size": 20,
    "head_units": 300,
    "observation_std": 0.01,
    "loss_weight": 0.01,
    "time_scale": HOURS,
}
DYNAMICS: dict[str, Any] = {"units": 50, "layers": 3}


def _baseline(name: str, **options: Any) -> Make:
    return lambda D, settings, task: BASELINES[name](D, settings.hidden_size, **options)


def _bidirectional(D: int, settings: Settings, task: Task) -> SequenceModel:
    return BASELINES["bidirectional"](D, settings.hidden_size, per_step=task.per_step)


MODELS: dict[str, Model] = {
    "cf_s": NetworkModel("Cf-S", ("Cf-S",), _cfc("cf_s", heads_squashed=False), penalised=True),
    "cf_s_paper": NetworkModel(
        "Cf-S, the text's equation", (), _cfc("cf_s_paper", heads_squashed=False), penalised=True
    ),
    "no_gate": NetworkModel("CfC-noGate", ("CfC-noGate",), _cfc("no_gate"), penalised=True),
    "cfc": NetworkModel("CfC", ("CfC",), _cfc("cfc"), penalised=True),
    "mm_rnn": _mixed("CfC-mmRNN", ("CfC-mmRNN",), "framework"),
    "mm_rnn_input": _mixed("CfC-mmRNN, memory at the input", (), "input"),
    "mm_rnn_hidden": _mixed("CfC-mmRNN, memory in place of the state", (), "hidden"),
    "ltc": NetworkModel("LTC", ("LTC",), _ltc),
    "lstm": NetworkModel("LSTM", ("Augmented LSTM", "LSTM"), _discrete(nn.LSTM)),
    "gru": NetworkModel("GRU", ("GRU", "RNN-delta-t"), _discrete(nn.GRU)),
    "bidirectional_rnn": NetworkModel(
        "Bi-directional RNN", ("Bi-directional RNN",), _cell(lambda D, s: BidirectionalRNNCell(D, s.hidden_size))
    ),
    "cornn": NetworkModel(
        "coRNN", ("coRNN",), _cell(lambda D, s: CoRNNCell(D, s.hidden_size, step=0.042 / _interval(s)))
    ),
    "ct_gru": NetworkModel(
        "CT-GRU", ("CT-GRU",), _cell(lambda D, s: CTGRUCell(D, s.hidden_size, shortest=_interval(s)))
    ),
    "ct_lstm": NetworkModel("CT-LSTM", ("CT-LSTM",), _cell(lambda D, s: CTLSTMCell(D, s.hidden_size))),
    "ct_rnn": NetworkModel("CT-RNN", ("CT-RNN",), _cell(lambda D, s: CTRNNCell(D, s.hidden_size))),
    "gru_d": NetworkModel("GRU-D", ("GRU-D",), _cell(lambda D, s: GRUDCell(D, s.hidden_size))),
    "gru_d_masks": NetworkModel(
        "GRU-D", ("GRU-D",), _cell(lambda D, s: GRUDCell(D, s.hidden_size, _second_half(D))), prepare=_set_means
    ),
    "gru_ode": NetworkModel("GRU-ODE", ("GRU-ODE",), _cell(lambda D, s: GRUODECell(D, s.hidden_size))),
    "lipschitz_rnn": NetworkModel(
        "Lipschitz RNN",
        ("Lipschitz RNN",),
        _cell(lambda D, s: LipschitzRNNCell(D, s.hidden_size, step=0.03 / _interval(s))),
    ),
    "ode_lstm": NetworkModel("ODE-LSTM", ("ODE-LSTM",), _cell(lambda D, s: ODELSTMCell(D, s.hidden_size))),
    "ode_rnn": NetworkModel("ODE-RNN", ("ODE-RNN",), _cell(lambda D, s: ODERNNCell(D, s.hidden_size))),
    "phased_lstm": NetworkModel(
        "Phased LSTM",
        ("PhasedLSTM", "Phased-LSTM"),
        _cell(_phased_lstm),
    ),
    "rnn_decay": NetworkModel(
        "RNN-Decay", ("RNN-Decay", "RNN Decay"), _cell(lambda D, s: DecayGRUCell(D, s.hidden_size))
    ),
    "rnn_impute": NetworkModel(
        "RNN-Impute",
        ("RNN-Impute",),
        _cell(lambda D, s: ImputeGRUCell(D, s.hidden_size, _second_half(D))),
        prepare=_set_means,
    ),
    "rnn": NetworkModel("RNN", ("Vanilla RNN",), _discrete(nn.RNN)),
    "hippo_lagt": NetworkModel(
        "HiPPO-LagT", ("HiPPO-LagT",), _cell(lambda D, s: HiPPOLagTCell(D, s.hidden_size, theta=LONGEST))
    ),
    "hippo_legs": NetworkModel("HiPPO-LegS", ("HiPPO-LegS",), _cell(lambda D, s: HiPPOLegSCell(D, s.hidden_size))),
    "lmu": NetworkModel("LMU", ("LMU",), _cell(lambda D, s: LMUCell(D, s.hidden_size, theta=LONGEST))),
    "relu_gru": NetworkModel("ReLU-GRU", ("ReLU GRU",), _cell(lambda D, s: ReLUGRUCell(D, s.hidden_size))),
    "skip_lstm": NetworkModel("Skip LSTM", ("Skip LSTM",), _cell(lambda D, s: SkipLSTMCell(D, s.hidden_size))),
    "exp_rnn": NetworkModel("expRNN", ("expRNN",), _cell(lambda D, s: ExpRNNCell(D, s.hidden_size))),
    "ip_net": NetworkModel("IP-Net", ("IP-Nets",), _baseline("ip_net", reference_points=96, horizon=HOURS)),
    "seft": NetworkModel("SeFT", ("SeFT",), _baseline("seft")),
    "rnn_vae": NetworkModel("RNN-VAE", ("RNN-VAE",), _baseline("rnn_vae", **LATENT)),
    "latent_ode_rnn": NetworkModel(
        "Latent-ODE, RNN encoder", ("Latent-ODE-RNN",), _baseline("latent_ode_rnn", **LATENT, **DYNAMICS)
    ),
    "latent_ode": NetworkModel(
        "Latent-ODE, ODE-RNN encoder", ("Latent-ODE-ODE",), _baseline("latent_ode", **LATENT, **DYNAMICS)
    ),
    "mtand": NetworkModel("mTAND-Enc", (), _baseline("mtand", reference_points=128, horizon=HOURS, head_units=300)),
    "mtand_full": NetworkModel(
        "mTAND-Full",
        (),
        _baseline(
            "mtand_full",
            latent_size=20,
            decoder_size=50,
            reference_points=128,
            horizon=HOURS,
            head_units=300,
            observation_std=0.01,
            loss_weight=0.01,
        ),
    ),
    "transformer": NetworkModel("Transformer", ("Transformer",), _baseline("transformer")),
    "bidirectional": NetworkModel("LSTM in both directions of time", (), _bidirectional),
    "boosting": BoostingModel(),
    "estimator": EstimatorModel(),
    "estimator_five": EstimatorModel("CfCClassifier, five together", members=5),
    "estimator_ten": EstimatorModel("CfCClassifier, ten together", members=10),
    "estimator_ten_along": EstimatorModel(
        "CfCClassifier, ten together, four outcomes along", members=10, auxiliary=True
    ),
}
