"""The paper's tables of hyper-parameters S1 to S4, and what its code adds to them.

Each table is as printed. `forget_bias` stands in every column of two tables and is read by the mixed memory alone.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One column of a table: how a network is made and trained. None: the table has no such line.

    Attributes:
        optimizer: "adam", "adamw" or "rmsprop".
        batch_size: sequences a batch.
        hidden_size: H.
        epochs: passes over the training part.
        base_lr: learning rate at the start.
        decay_lr: its factor an epoch, where the schedule is exponential.
        clipnorm: largest norm of each variable's gradient; 0 = none.
        weight_decay: λ of the L2 penalty, or AdamW's.
        backbone_activation: of the backbone's layers.
        backbone_dr: share of backbone units dropped in training.
        backbone_units: U.
        backbone_layers: of the backbone.
        forget_bias: of the mixed memory's LSTM.
        class_weight: weight of class 1 in the loss, class 0 having 1.
        init: gain of the Xavier-uniform initial weights.
        embed_dim: width of a word's vector.
        embed_dr: share of its entries dropped in training.
        schedule: of the learning rate, as in `TrainSettings`.
        time_scale: factor on the data's intervals; None = 1.
        switch_times: first and last time, after that factor, at which gates switch at the start; None = all flat.
        growing_epochs: over which the longest sequence taken grows to the longest there is; None = all at once.
        like_lengths: whether sequences of like length share a batch; None = drawn at random, as in the paper's code.
        sample_interval: time between regular samples, in which the time scales of a network's source are counted.

    """

    optimizer: str
    batch_size: int
    hidden_size: int
    epochs: int
    base_lr: float
    clipnorm: float
    weight_decay: float
    decay_lr: float | None = None
    backbone_activation: str | None = None
    backbone_dr: float | None = None
    backbone_units: int | None = None
    backbone_layers: int | None = None
    forget_bias: float | None = None
    class_weight: float | None = None
    init: float | None = None
    embed_dim: int | None = None
    embed_dr: float | None = None
    schedule: str = "exponential"
    time_scale: float | None = None
    switch_times: tuple[float, float] | None = None
    growing_epochs: int | None = None
    like_lengths: bool | None = None
    sample_interval: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, by name."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}


def table(**lines: tuple[Any, Any, Any, Any]) -> dict[str, Settings]:
    """Return the columns Cf-S, CfC, CfC-noGate and CfC-mmRNN of a table given by its lines."""
    names = ("cf_s", "cfc", "no_gate", "mm_rnn")
    return {name: Settings(**{line: row[i] for line, row in lines.items()}) for i, name in enumerate(names)}


XOR = table(
    clipnorm=(5, 1, 10, 10),
    optimizer=("adam", "rmsprop", "rmsprop", "rmsprop"),
    batch_size=(256, 128, 128, 128),
    hidden_size=(64, 192, 128, 64),
    epochs=(200, 200, 200, 200),
    base_lr=(0.005, 0.05, 0.005, 0.005),
    decay_lr=(0.9, 0.7, 0.95, 0.95),
    backbone_activation=("silu", "relu", "silu", "relu"),
    backbone_dr=(0.0, 0.0, 0.3, 0.0),
    forget_bias=(1.2, 1.2, 4.7, 0.6),
    backbone_units=(64, 128, 192, 128),
    backbone_layers=(1, 1, 1, 1),
    weight_decay=(3e-05, 3e-06, 5e-06, 2e-06),
)
PHYSIONET = table(
    epochs=(116, 57, 58, 65),
    class_weight=(18.25, 11.69, 7.73, 5.91),
    clipnorm=(0, 0, 0, 0),
    hidden_size=(64, 256, 64, 64),
    base_lr=(0.003, 0.002, 0.003, 0.001),
    decay_lr=(0.72, 0.9, 0.73, 0.9),
    backbone_activation=("tanh", "silu", "relu", "lecun_tanh"),
    backbone_units=(64, 64, 192, 64),
    backbone_dr=(0.1, 0.2, 0.0, 0.3),
    backbone_layers=(3, 2, 2, 2),
    weight_decay=(5e-05, 4e-06, 5e-05, 4e-06),
    optimizer=("adamw", "adamw", "adamw", "adamw"),
    init=(0.53, 0.50, 0.55, 0.6),
    batch_size=(128, 128, 128, 128),
)
IMDB = table(
    clipnorm=(1, 10, 5, 10),
    optimizer=("adam", "rmsprop", "rmsprop", "rmsprop"),
    batch_size=(128, 128, 128, 128),
    hidden_size=(320, 192, 224, 64),
    embed_dim=(64, 192, 192, 32),
    embed_dr=(0.0, 0.0, 0.2, 0.3),
    epochs=(27, 47, 37, 20),
    base_lr=(0.0005, 0.0005, 0.0005, 0.0005),
    decay_lr=(0.8, 0.7, 0.8, 0.8),
    backbone_activation=("relu", "silu", "silu", "lecun_tanh"),
    backbone_dr=(0.0, 0.0, 0.1, 0.0),
    backbone_units=(64, 64, 128, 64),
    backbone_layers=(1, 2, 1, 1),
    weight_decay=(0.00048, 3.6e-05, 2.7e-05, 0.00029),
)
WALKER2D = table(
    clipnorm=(10, 1, 1, 10),
    optimizer=("adam", "adam", "adam", "adam"),
    batch_size=(128, 256, 128, 128),
    hidden_size=(256, 64, 256, 128),
    epochs=(50, 50, 50, 50),
    base_lr=(0.006, 0.02, 0.008, 0.005),
    decay_lr=(0.95, 0.95, 0.95, 0.95),
    backbone_activation=("silu", "silu", "lecun_tanh", "lecun_tanh"),
    backbone_dr=(0.0, 0.1, 0.1, 0.2),
    forget_bias=(5.0, 1.6, 2.8, 2.1),
    backbone_units=(192, 256, 128, 128),
    backbone_layers=(1, 1, 1, 2),
    weight_decay=(1e-06, 1e-06, 3e-05, 6e-06),
)
