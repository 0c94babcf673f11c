"""The models of the experiments, under the names of the table of networks (`liquidtime.networks`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from liquidtime.baselines.recurrent.parts.decay import InputDecay
from liquidtime.baselines.series import SequenceModel
from liquidtime.layers import CfC, Recurrent
from liquidtime.networks import entry_of, recurrent_layer
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


def _discrete(kind: type[nn.LSTM] | type[nn.GRU] | type[nn.RNN], *, with_time: bool) -> Make:
    """Return PyTorch's own layer, as in the published runs: the same equations with other initial weights."""
    return lambda D, settings, task: Discrete(kind, D, settings.hidden_size, with_time)


def _network(
    name: str,
    title: str,
    *paper: str,
    options: Callable[[Settings, Task], dict[str, Any]] = lambda settings, task: {},
) -> NetworkModel:
    """Return a network of the table, which gets masks if the samples have them.

    Args:
        name: name in `NETWORKS`.
        title: title in our tables.
        *paper: titles in the paper's tables.
        options: maps settings and task to more arguments of the network.

    """
    entry = entry_of(name)

    def make(D: int, settings: Settings, task: Task) -> Recurrent | SequenceModel:
        H, more = settings.hidden_size, options(settings, task)
        if entry.reads_series:
            return entry.model(D, H, mask=task.has_masks, **more)
        return recurrent_layer(name, D, H, masks=range(D // 2, D) if task.has_masks else (), **more)

    return NetworkModel(title, paper, make, prepare=None if entry.masks == "none" else _set_means)


def _interval(settings: Settings) -> float:
    return 1.0 if settings.sample_interval is None else settings.sample_interval


def _periods(settings: Settings, task: Task) -> dict[str, Any]:
    """Return periods far longer than a series, so that some units stay open; with short periods, each reads little."""
    shortest = _interval(settings)
    return {"periods": (shortest, 1000 * shortest), "open_ratio": 0.1}


def _unfolds(settings: Settings, task: Task) -> dict[str, Any]:
    return {} if settings.unfolds is None else {"unfolds": settings.unfolds}


def _set_means(recurrent: nn.Module, part: Sequences) -> None:
    """Set the means of the observed training values in every part that lets values decay."""
    inside = (torch.arange(part.x.shape[1]) < part.lengths.unsqueeze(1)).unsqueeze(-1)
    for module in recurrent.modules():
        if isinstance(module, InputDecay):
            observed = inside * part.x.index_select(-1, module.masks)
            total = (observed * part.x[..., : module.size]).sum(dim=(0, 1))
            module.mean.copy_(total / observed.sum(dim=(0, 1)).clamp(min=1.0))


HOURS = 48.0
"""Length of the medical series in hours."""
LATENT: dict[str, Any] = {
    "latent_size": 20,
    "head_units": 300,
    "observation_std": 0.01,
    "loss_weight": 0.01,
    "time_scale": HOURS,
}
DYNAMICS: dict[str, Any] = {"units": 50, "layers": 3}


def _always(**options: Any) -> Callable[[Settings, Task], dict[str, Any]]:
    return lambda settings, task: options


def _nothing(settings: Settings, task: Task) -> dict[str, Any]:
    return {}


def _shortest(settings: Settings, task: Task) -> dict[str, Any]:
    return {"shortest": _interval(settings)}


QUOTED: tuple[tuple[str, str, tuple[str, ...], Callable[[Settings, Task], dict[str, Any]]], ...] = (
    ("bidirectional_rnn", "Bi-directional RNN", ("Bi-directional RNN",), _nothing),
    ("ct_gru", "CT-GRU", ("CT-GRU",), _shortest),
    ("ct_lstm", "CT-LSTM", ("CT-LSTM",), _nothing),
    ("ct_rnn", "CT-RNN", ("CT-RNN",), _nothing),
    ("gru_ode", "GRU-ODE", ("GRU-ODE",), _nothing),
    ("ode_lstm", "ODE-LSTM", ("ODE-LSTM",), _nothing),
    ("phased_lstm", "Phased LSTM", ("PhasedLSTM", "Phased-LSTM"), _nothing),
    ("rnn_decay", "RNN-Decay", ("RNN-Decay", "RNN Decay"), _nothing),
)
"""Networks whose form in the quoted work differs: name, title, the paper's titles, more options."""

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
    "ltc": _network("ltc", "LTC", "LTC", options=_unfolds),
    "lstm": NetworkModel("LSTM", ("LSTM",), _discrete(nn.LSTM, with_time=False)),
    "augmented_lstm": NetworkModel("LSTM", ("Augmented LSTM",), _discrete(nn.LSTM, with_time=True)),
    "gru": NetworkModel("GRU", ("GRU",), _discrete(nn.GRU, with_time=False)),
    "rnn_delta_t": NetworkModel("GRU", ("RNN-delta-t",), _discrete(nn.GRU, with_time=True)),
    "rnn": NetworkModel("RNN", ("Vanilla RNN",), _discrete(nn.RNN, with_time=False)),
    "bidirectional_rnn": _network("bidirectional_rnn", "Bi-directional RNN", "Bi-directional RNN"),
    "cornn": _network("cornn", "coRNN", "coRNN", options=lambda s, task: {"step": 0.042 / _interval(s)}),
    "ct_gru": _network("ct_gru", "CT-GRU", "CT-GRU", options=_shortest),
    "ct_lstm": _network("ct_lstm", "CT-LSTM", "CT-LSTM"),
    "ct_rnn": _network("ct_rnn", "CT-RNN", "CT-RNN"),
    "gru_d": _network("gru_d", "GRU-D", "GRU-D"),
    "gru_ode": _network("gru_ode", "GRU-ODE", "GRU-ODE"),
    "lipschitz_rnn": _network(
        "lipschitz_rnn", "Lipschitz RNN", "Lipschitz RNN", options=lambda s, task: {"step": 0.03 / _interval(s)}
    ),
    "ode_lstm": _network("ode_lstm", "ODE-LSTM", "ODE-LSTM"),
    "ode_rnn": _network("ode_rnn", "ODE-RNN", "ODE-RNN"),
    "phased_lstm": _network("phased_lstm", "Phased LSTM", "PhasedLSTM", "Phased-LSTM", options=_periods),
    "rnn_decay": _network("rnn_decay", "RNN-Decay", "RNN-Decay", "RNN Decay"),
    **{
        f"{name}_quoted": _network(f"{name}_quoted", title, *paper, options=options)
        for name, title, paper, options in QUOTED
    },
    "rnn_impute": _network("rnn_impute", "RNN-Impute", "RNN-Impute"),
    "hippo_lagt": _network("hippo_lagt", "HiPPO-LagT", "HiPPO-LagT", options=_always(theta=LONGEST)),
    "hippo_legs": _network("hippo_legs", "HiPPO-LegS", "HiPPO-LegS"),
    "lmu": _network("lmu", "LMU", "LMU", options=_always(theta=LONGEST)),
    "relu_gru": _network("relu_gru", "ReLU-GRU", "ReLU GRU"),
    "skip_lstm": _network("skip_lstm", "Skip LSTM", "Skip LSTM"),
    "exp_rnn": _network("exp_rnn", "expRNN", "expRNN"),
    "ip_net": _network("ip_net", "IP-Net", "IP-Nets", options=_always(reference_points=96, horizon=HOURS)),
    "seft": _network("seft", "SeFT", "SeFT"),
    "rnn_vae": _network("rnn_vae", "RNN-VAE", "RNN-VAE", options=_always(**LATENT)),
    "latent_ode_rnn": _network(
        "latent_ode_rnn", "Latent-ODE, RNN encoder", "Latent-ODE-RNN", options=_always(**LATENT, **DYNAMICS)
    ),
    "latent_ode": _network(
        "latent_ode", "Latent-ODE, ODE-RNN encoder", "Latent-ODE-ODE", options=_always(**LATENT, **DYNAMICS)
    ),
    "mtand": _network("mtand", "mTAND-Enc", options=_always(reference_points=128, horizon=HOURS, head_units=300)),
    "mtand_full": _network(
        "mtand_full",
        "mTAND-Full",
        options=_always(
            latent_size=20,
            decoder_size=50,
            reference_points=128,
            horizon=HOURS,
            head_units=300,
            observation_std=0.01,
            loss_weight=0.01,
        ),
    ),
    "transformer": _network("transformer", "Transformer", "Transformer"),
    "bidirectional": _network(
        "bidirectional", "LSTM in both directions of time", options=lambda s, task: {"per_step": task.per_step}
    ),
    "boosting": BoostingModel(),
    "estimator": EstimatorModel(),
    "estimator_five": EstimatorModel("CfCClassifier, 5 networks", members=5),
    "estimator_ten": EstimatorModel("CfCClassifier, 10 networks", members=10),
    "estimator_ten_along": EstimatorModel(
        "CfCClassifier, 10 networks, 4 auxiliary targets", members=10, auxiliary=True
    ),
}
