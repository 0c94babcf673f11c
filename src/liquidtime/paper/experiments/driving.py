"""Driving in closed loop: the paper's car that stays in its lane, in gymnasium's CarRacing-v3."""

from __future__ import annotations

import dataclasses

from liquidtime.paper.datasets import car_racing
from liquidtime.paper.experiments.experiment import Experiment, Row
from liquidtime.paper.fitting import PYTORCH, Settings, Task
from liquidtime.paper.models.driving.model import DrivingModel
from liquidtime.paper.models.lane.networks import LANE_MODELS

TASK = Task("mse", 1, PYTORCH, per_step=True)
SETTINGS = Settings(
    optimizer="adam",
    batch_size=6,
    hidden_size=19,
    epochs=3,
    base_lr=0.002,
    clipnorm=1,
    weight_decay=0.0,
    schedule="one_cycle",
    time_scale=15.0,
)
"""The same for every network; the unit of time is the mean interval, about 0.07 s."""
GIVEN = {
    "lstm": dataclasses.replace(SETTINGS, hidden_size=64),
    "cnn": dataclasses.replace(SETTINGS, hidden_size=1000, base_lr=0.0005),
}
NOISY = "trained with noise"
ROWS = {
    name: Row(DrivingModel(name, lane, kept=name == "cfc"), GIVEN.get(name, SETTINGS), last_epoch=True)
    for name, lane in LANE_MODELS.items()
} | {
    f"{name}_noise": Row(
        DrivingModel(f"{name}_noise", lane, noise=True), GIVEN.get(name, SETTINGS), label=NOISY, last_epoch=True
    )
    for name, lane in LANE_MODELS.items()
}
ROWS["cf_s_faster"] = Row(
    DrivingModel("cf_s_faster", LANE_MODELS["cf_s"]),
    dataclasses.replace(SETTINGS, base_lr=0.01),
    "the command of Cf-S starts near its A of 1, which each of some 170 steps changes by at most the rate",
    label="five times the rate",
    last_epoch=True,
)

DRIVING = Experiment(
    "driving",
    "Driving in closed loop, CarRacing-v3",
    TASK,
    car_racing,
    {"honest": {"protocol": "honest"}},
    ROWS,
    (),
    digits=4,
)
