"""The models of the tables: a new one is a line here and a line in each experiment that has settings for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from liquidtime.baselines import BASELINES, SequenceModel
from liquidtime.layers import LTC, CfC, Recurrent
from liquidtime.paper.boosting import BoostingModel
from liquidtime.paper.fitting import NetworkModel
from liquidtime.paper.network import Discrete
from liquidtime.paper.settings import Settings
from liquidtime.paper.task import Task

Model = NetworkModel | BoostingModel
Make = Callable[[int, Settings, Task], Recurrent | Discrete | SequenceModel]


def _cfc(variant: str, *, heads_squashed: bool = True, memory: str | None = None, **options: Any) -> Make:
    def make(D: int, settings: Settings, task: Task) -> CfC:
        framework = task.framework
        more = dict(options)
        if heads_squashed:
            more["head_activation"] = framework.head_activation
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


def _discrete(kind: type[nn.LSTM] | type[nn.GRU]) -> Make:
    return lambda D, settings, task: Discrete(kind, D, settings.hidden_size, task.has_time)


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
    "gru": NetworkModel("GRU", ("GRU",), _discrete(nn.GRU)),
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
}
