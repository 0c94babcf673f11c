"""Walker2D kinematics: table S4."""

from __future__ import annotations

import dataclasses

from liquidtime.paper.datasets import walker2d
from liquidtime.paper.experiments import printed, published
from liquidtime.paper.experiments.experiment import OTHER_FORM, UNSAID, Experiment, Row, with_searched
from liquidtime.paper.experiments.search import Family, Search
from liquidtime.paper.fitting import TENSORFLOW, Settings, Task
from liquidtime.paper.models import MODELS

PRINTED = printed.WALKER2D
SHORT = Settings(
    optimizer="adam",
    batch_size=128,
    hidden_size=64,
    epochs=15,
    base_lr=0.02,
    clipnorm=1,
    weight_decay=0.0,
    schedule="cosine",
)
LTC_OF_THE_CODE = Settings(
    optimizer="adam",
    batch_size=128,
    hidden_size=128,
    epochs=50,
    base_lr=0.05,
    decay_lr=0.95,
    clipnorm=10,
    weight_decay=0.0,
    unfolds=3,
)
GENTLE = dataclasses.replace(SHORT, base_lr=0.002)
LONG_FALL = dataclasses.replace(
    PRINTED["mm_rnn"],
    epochs=40,
    base_lr=0.008,
    decay_lr=None,
    schedule="cosine",
    clipnorm=1,
    backbone_layers=1,
    backbone_dr=0.1,
)
OTHERS = (
    "bidirectional_rnn",
    "cornn",
    "ct_gru",
    "ct_lstm",
    "ct_rnn",
    "gru_d",
    "gru_ode",
    "lipschitz_rnn",
    "ode_lstm",
    "ode_rnn",
    "phased_lstm",
    "rnn_decay",
)
PAPERS_OWN = ("cornn", "lipschitz_rnn")
"""Rows with figures of the paper's own; those of the others are quoted."""
PENALTY = (
    "The paper's figure includes its L2 penalty; with the penalty, ours is about the same "
    "(`test_with_penalty` in the result files)."
)
SAME = "64 units as in the quoted work, 15 epochs, learning rate falls to 0; no search"
NAMED = {
    "cf_s": Row(MODELS["cf_s"], PRINTED["cf_s"]),
    "cf_s_paper": Row(MODELS["cf_s_paper"], PRINTED["cf_s"], "settings of Cf-S"),
    "no_gate": Row(MODELS["no_gate"], PRINTED["no_gate"], why=PENALTY),
    "cfc": Row(MODELS["cfc"], PRINTED["cfc"], why=PENALTY),
    "mm_rnn": Row(MODELS["mm_rnn"], PRINTED["mm_rnn"]),
    "mm_rnn_hidden": Row(MODELS["mm_rnn_hidden"], PRINTED["mm_rnn"], "the structure of the other reference"),
    "mm_rnn_tuned": Row(
        MODELS["mm_rnn"], LONG_FALL, "one backbone layer, half the dropout, rate falls to 0; by validation", "tuned"
    ),
    "ltc_code": Row(
        MODELS["ltc"],
        LTC_OF_THE_CODE,
        "128 units, 3 solver steps, 50 epochs: the settings of the reference's code",
        "settings of its code",
    ),
    "ltc": Row(MODELS["ltc"], SHORT, SAME, "short"),
    "lstm": Row(MODELS["augmented_lstm"], SHORT, f"time as an additional input, {SAME}"),
    "gru": Row(MODELS["rnn_delta_t"], SHORT, f"time as an additional input, {SAME}"),
    **{
        name: Row(
            MODELS[name],
            SHORT,
            SAME,
            why=UNSAID if name in PAPERS_OWN else OTHER_FORM if f"{name}_quoted" in MODELS else "",
            see=(f"{name}_quoted",) if f"{name}_quoted" in MODELS else (),
        )
        for name in OTHERS
    },
    **{
        f"{name}_quoted": Row(MODELS[f"{name}_quoted"], SHORT, SAME, "as in the quoted code")
        for name in OTHERS
        if f"{name}_quoted" in MODELS
    },
    "transformer": Row(
        MODELS["transformer"], GENTLE, f"2 layers, 4 heads, {SAME}, but a tenth of the rate", why=UNSAID
    ),
}
CLOSED_FORM = ("cf_s", "no_gate", "cfc", "mm_rnn")
SEARCH = Search(
    rows=(*CLOSED_FORM, "ltc", "lstm", "gru", *OTHERS, "transformer"),
    trials=6,
    space={
        "base_lr": (0.001, 0.002, 0.005, 0.01, 0.02),
        "batch_size": (64, 128),
        "hidden_size": (64, 128),
        "clipnorm": (1.0, 10.0),
    },
    fixed={"optimizer": "adam", "epochs": 25, "schedule": "cosine", "decay_lr": None, "weight_decay": 0.0},
    families=(
        Family(CLOSED_FORM, {"backbone_layers": (1, 2), "backbone_dr": (0.0, 0.1, 0.2)}),
        Family(("cornn", "ct_gru", "lipschitz_rnn", "phased_lstm"), {"sample_interval": (0.05, 0.1, 0.3, 1.0)}),
    ),
    epochs=10,
    sequences=3200,
)
ROWS = with_searched(NAMED, SEARCH)

WALKER2D = Experiment(
    "walker2d",
    "Walker2D kinematics",
    Task("mse", 17, TENSORFLOW, per_step=True, patience=12),
    walker2d,
    {"honest": {"protocol": "honest"}, "published": {"protocol": "published"}},
    ROWS,
    published.WALKER2D,
    search=SEARCH,
)
