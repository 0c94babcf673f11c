"""Lane keeping: steering from images, table of weights and figure of attention."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from liquidtime.paper.datasets import Sequences, Split, driving
from liquidtime.paper.experiments.experiment import Experiment, Row, with_searched
from liquidtime.paper.experiments.search import Family, Search
from liquidtime.paper.fitting import PYTORCH, Settings, Task
from liquidtime.paper.models.lane.networks import LANE_MODELS

WINDOW = 64
"""Number of images in a window, about 7 s."""
TASK = Task("mse", 1, PYTORCH, per_step=True, patience=12)
SETTINGS = Settings(
    optimizer="adam",
    batch_size=32,
    hidden_size=19,
    epochs=24,
    base_lr=0.01,
    decay_lr=0.88,
    clipnorm=1,
    weight_decay=0.0,
)
LSTM = dataclasses.replace(SETTINGS, hidden_size=64, base_lr=0.003)
DENSE = dataclasses.replace(SETTINGS, hidden_size=1000, epochs=4, base_lr=0.0003, decay_lr=0.5)
CENTRED = dataclasses.replace(SETTINGS, epochs=40, base_lr=0.02, decay_lr=None, schedule="one_cycle", centred=True)
CENTRED_BY = {
    "lstm": dataclasses.replace(CENTRED, hidden_size=64, base_lr=0.01),
    "mm_rnn": dataclasses.replace(CENTRED, base_lr=0.01),
}
"""An LSTM, alone or as mixed memory, is trained at half the rate of the circuits."""
RECURRENT = tuple(name for name, model in LANE_MODELS.items() if not model.flat)

GIVEN = {"lstm": LSTM, "cnn": DENSE}
JOINTLY = "head trained too"
CENTRED_LABEL = "features centred"
TRAINED = {name: Row(model, GIVEN.get(name, SETTINGS), "head frozen") for name, model in LANE_MODELS.items()} | {
    f"{name}_joint": Row(
        dataclasses.replace(model, joint=True, kept=False),
        GIVEN.get(name, SETTINGS),
        "first with a frozen head, then together with the head on the images of a quarter of the windows",
        JOINTLY,
    )
    for name, model in LANE_MODELS.items()
}
CENTRED_ROWS = {
    f"{name}_centred": Row(
        dataclasses.replace(LANE_MODELS[name], kept=False),
        CENTRED_BY.get(name, CENTRED),
        "features minus their mean over the training images, one cycle of the rate in 40 epochs; by validation",
        CENTRED_LABEL,
    )
    for name in RECURRENT
}
SEARCH = Search(
    rows=("cnn", *CENTRED_ROWS),
    trials=8,
    space={
        "base_lr": (0.001, 0.002, 0.005, 0.01, 0.02, 0.05),
        "schedule": ("one_cycle", "cosine"),
        "batch_size": (16, 32, 64),
        "clipnorm": (1.0, 10.0),
        "centred": (True, True, False),
    },
    fixed={"epochs": 40, "decay_lr": None},
    families=(Family(("cnn",), {"base_lr": (0.0001, 0.0002, 0.0005, 0.001)}, {"epochs": 8}),),
)
ROWS = with_searched({**TRAINED, **CENTRED_ROWS}, SEARCH)


def load(data_dir: str | Path | None = None, *, window: int = WINDOW, **options: Any) -> Split:
    """Return the drives, see `datasets.driving`; validation and test without their last, shorter window.

    The windows of a run follow one another, so that a network can be run along the whole run. The bootstrap resamples
    the errors of windows.
    """
    split = driving(data_dir, window=window, **options)
    held = None if split.validation is None else _whole(split.validation, window)
    return Split(split.train, held, _whole(split.test, window))


def _whole(part: Sequences, window: int) -> Sequences:
    return part.take((part.lengths == window).nonzero()[:, 0])


LANE_KEEPING = Experiment(
    "lane-keeping",
    "Lane keeping, driving simulator",
    TASK,
    load,
    {"honest": {"protocol": "honest"}},
    ROWS,
    (),
    digits=5,
    search=SEARCH,
)
