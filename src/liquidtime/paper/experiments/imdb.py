"""IMDB sentiment: table S3."""

from __future__ import annotations

from liquidtime.datasets import imdb
from liquidtime.datasets.imdb import VOCABULARY
from liquidtime.paper import published, settings
from liquidtime.paper.experiments.experiment import Experiment, Row
from liquidtime.paper.models import MODELS
from liquidtime.paper.settings import Settings
from liquidtime.paper.task import TENSORFLOW, Task

PRINTED = settings.IMDB
DISCRETE = Settings(
    optimizer="adam",
    batch_size=128,
    hidden_size=64,
    epochs=20,
    base_lr=0.001,
    decay_lr=0.8,
    clipnorm=1,
    weight_decay=0.0,
    embed_dim=32,
    embed_dr=0.3,
)
LIQUID = Settings(
    optimizer="adam",
    batch_size=128,
    hidden_size=128,
    epochs=50,
    base_lr=0.05,
    decay_lr=0.95,
    clipnorm=10,
    weight_decay=0.0,
    embed_dim=64,
    embed_dr=0.0,
)
ROWS = {
    "cf_s": Row(MODELS["cf_s"], PRINTED["cf_s"]),
    "cf_s_paper": Row(MODELS["cf_s_paper"], PRINTED["cf_s"], "settings of Cf-S"),
    "no_gate": Row(MODELS["no_gate"], PRINTED["no_gate"]),
    "cfc": Row(MODELS["cfc"], PRINTED["cfc"]),
    "mm_rnn": Row(MODELS["mm_rnn"], PRINTED["mm_rnn"]),
    "mm_rnn_hidden": Row(MODELS["mm_rnn_hidden"], PRINTED["mm_rnn"], "the structure of the other reference"),
    "ltc": Row(MODELS["ltc"], LIQUID, "settings of the reference's code"),
    "lstm": Row(MODELS["lstm"], DISCRETE, "our settings"),
    "gru": Row(MODELS["gru"], DISCRETE, "our settings"),
    "rnn": Row(MODELS["rnn"], DISCRETE, "our settings"),
    "hippo_lagt": Row(MODELS["hippo_lagt"], DISCRETE, "our settings, a window of 200 words"),
    "hippo_legs": Row(MODELS["hippo_legs"], DISCRETE, "our settings"),
    "lmu": Row(MODELS["lmu"], DISCRETE, "our settings, a window of 200 words"),
    "relu_gru": Row(MODELS["relu_gru"], DISCRETE, "our settings"),
    "skip_lstm": Row(MODELS["skip_lstm"], DISCRETE, "our settings, no price on updates"),
    "exp_rnn": Row(MODELS["exp_rnn"], DISCRETE, "our settings"),
}

IMDB = Experiment(
    "imdb",
    "IMDB sentiment",
    Task("accuracy", 10, TENSORFLOW, has_time=False, words=VOCABULARY, patience=8),
    imdb,
    {"honest": {"protocol": "honest"}, "published": {"protocol": "published"}},
    ROWS,
    published.IMDB,
    digits=1,
)
