"""The claim about gradients: how long the state of each variant depends on its past, and whether it recalls a bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from liquidtime.paper.datasets import Split, recall_split
from liquidtime.paper.experiments.experiment import Experiment, Row
from liquidtime.paper.fitting import TENSORFLOW, Settings, Task
from liquidtime.paper.models import MODELS
from liquidtime.paper.models.gradients import GradientModel
from liquidtime.paper.models.network_model import NetworkModel

DELAYS = (10, 40, 160)
SETTINGS: dict[str, Any] = {
    "optimizer": "adam",
    "batch_size": 64,
    "hidden_size": 32,
    "epochs": 12,
    "base_lr": 0.003,
    "clipnorm": 1,
    "weight_decay": 0.0,
    "schedule": "cosine",
}
DENSE: dict[str, Any] = {
    "backbone_units": 32,
    "backbone_layers": 1,
    "backbone_activation": "lecun_tanh",
    "backbone_dr": 0.0,
}
VARIANTS = ("cf_s_paper", "cf_s", "cfc", "no_gate", "mm_rnn_hidden", "ltc", "lstm")
MEMORY = {"forget_bias": 1.0}


def _settings(name: str) -> Settings:
    options = SETTINGS | ({} if name in ("ltc", "lstm") else DENSE) | (MEMORY if name == "mm_rnn_hidden" else {})
    return Settings(**options)


def _model(name: str) -> GradientModel:
    base = MODELS[name]
    if not isinstance(base, NetworkModel):
        raise TypeError(f"`{name}` must be a network with a state")
    return GradientModel(base)


def load(data_dir: str | Path | None = None, **options: Any) -> Split:
    """Return the sequences with a delay; they are generated, so no data folder is needed."""
    return recall_split(**options)


GRADIENTS = Experiment(
    "gradients",
    "Gradients over long series",
    Task("accuracy", 1, TENSORFLOW, perfect=1.0, patience=12),
    load,
    {"honest": {"protocol": "honest"}},
    {
        f"{name}_{delay}": Row(
            _model(name), _settings(name), "32 units, 12 epochs", f"delay of {delay}", {"delay": delay}
        )
        for name in VARIANTS
        for delay in DELAYS
        if not (name == "ltc" and delay > 40)  # an hour each
    },
    (),
    digits=1,
)
