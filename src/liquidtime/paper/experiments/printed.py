"""The paper's tables of hyper-parameters, S1 to S4, as printed.

`forget_bias` is in every column of two tables, but only the mixed memory uses it.
"""

from __future__ import annotations

from typing import Any

from liquidtime.paper.fitting import Settings


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
