"""Settings of networks in experiments."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a network and its training, one column of a table. None: the table has no such line.

    Attributes:
        optimizer: "adam", "adamw" or "rmsprop".
        batch_size: sequences per batch.
        hidden_size: H, number of units.
        epochs: passes over the training part.
        base_lr: learning rate at the start.
        decay_lr: factor of the learning rate per epoch, if the schedule is exponential.
        clipnorm: largest norm of the gradient of each variable; 0 for none.
        weight_decay: λ of the L2 penalty, or of AdamW.
        backbone_activation: activation of the backbone's layers.
        backbone_dr: share of backbone units that are dropped in training.
        backbone_units: U, units per layer of the backbone.
        backbone_layers: number of layers of the backbone.
        forget_bias: forget bias of the LSTM in the mixed memory.
        class_weight: weight of class 1 in the loss, where class 0 has 1.
        init: gain of the Xavier-uniform initial weights.
        embed_dim: size of word vectors.
        embed_dr: share of their entries that are dropped in training.
        schedule: schedule of the learning rate, as in `TrainSettings`.
        time_scale: factor on the intervals of the data; None for 1.
        switch_times: first and last time, after that factor, at which initial gates switch; None if all are flat.
        growing_epochs: number of epochs in which the allowed length grows to the longest sequence; None for none.
        like_lengths: whether batches have sequences of similar lengths; None for random ones, as in the paper's code.
        unfolds: solver steps per sample of a liquid network; None for the default of the cell.
        sample_interval: time between regular samples, the unit of the time scales in a network's source.
        centred: whether the mean over the training part is subtracted from the features of images.

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
