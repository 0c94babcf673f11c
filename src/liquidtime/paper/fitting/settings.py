"""How a network of an experiment is made and trained."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One column of a table: how a network is made and trained. None: the table has no such line.

    Attributes:
        optimizer: "adam", "adamw" or "rmsprop".
        batch_size: sequences per batch.
        hidden_size: H.
        epochs: passes over the training part.
        base_lr: learning rate at the start.
        decay_lr: its factor per epoch, where the schedule is exponential.
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
        unfolds: solver steps per sample of a liquid network; None = the cell's own number.
        sample_interval: time between regular samples, in which the time scales of a network's source are counted.
        centred: whether images' features reach the network without their mean over the training part.

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
    unfolds: int | None = None
    sample_interval: float | None = None
    centred: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, by name."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
