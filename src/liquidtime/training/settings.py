"""The settings of a run. Each field says once, here, what it does."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, cast

import torch

from liquidtime._checks import check_choice, check_size, named_arguments
from liquidtime.training.clipping import CLIPPING
from liquidtime.training.metrics import METRICS
from liquidtime.training.schedule import NEEDS_LENGTH, SCHEDULES

OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}
WITH_MOMENTUM = ("rmsprop", "sgd")
DIRECTIONS = ("auto", "max", "min")


def _setting(default: Any, text: str) -> Any:
    return dataclasses.field(default=default, metadata={"text": text})


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How a model is trained; `TrainSettings.table()` lists every field with its default and meaning.

    Raises:
        TypeError: a field is unknown (the message names the nearest one), or a value has another type.
        ValueError: a value is out of range, or has no effect with the other settings.

    """

    epochs: int = _setting(20, "passes over the training part")
    seed: int = _setting(0, "random seed of the run: batch order, dropout and all other random choices")
    optimizer: str = _setting("adamw", "adam, adamw, rmsprop or sgd")
    learning_rate: float = _setting(1e-3, "base rate, which the schedule multiplies")
    momentum: float = _setting(0.0, "momentum of sgd and rmsprop")
    smoothing: float = _setting(0.99, "share of the past in rmsprop's mean of squared gradients; Keras has 0.9")
    epsilon: float = _setting(1e-8, "added to the root of the mean of squared gradients; Keras has 1e-7")
    weight_decay: float = _setting(0.0, "weight decay of the optimiser, on every parameter; decoupled in adamw")
    l2_penalty: float = _setting(0.0, "λ of a penalty λ·Σw² added to the loss, on `l2_parameters` only")
    l2_parameters: tuple[str, ...] = _setting((), "patterns of parameter names under the penalty, e.g. '*.weight'")
    schedule: str = _setting("constant", "constant, exponential, cosine or one_cycle")
    schedule_every: str = _setting("step", "change the rate at each step, or only between epochs")
    decay: float = _setting(1.0, "factor of the rate per epoch, in the exponential schedule: base·decay^epoch")
    clip_norm: float = _setting(0.0, "largest gradient norm; 0 = no clipping")
    clip: str = _setting("global", "clip the norm of all variables together (global), or of each variable alone (each)")
    monitor: str = _setting("loss", "the validation metric that chooses the best epoch")
    direction: str = _setting("auto", "whether max or min is better; auto: known from the metric's name")
    patience: int = _setting(0, "stop after this many epochs without a better validation metric; 0 = never")
    target: float | None = _setting(None, "stop once the validation metric is this good; None = never")
    target_epochs: int = _setting(1, "how many epochs in a row it must be that good")
    checkpoint_every: int = _setting(0, "optimiser steps between saves, besides the end of each epoch; 0 = none")

    def __post_init__(self) -> None:
        for name, least in (
            ("epochs", 1),
            ("seed", 0),
            ("patience", 0),
            ("target_epochs", 1),
        ):
            check_size(name, getattr(self, name), least)
        check_size("checkpoint_every", self.checkpoint_every, 0)
        for name in ("momentum", "weight_decay", "l2_penalty", "clip_norm"):
            _check_number(name, getattr(self, name), low=0.0)
        if self.target is not None:
            _check_number("target", self.target, low=-math.inf)
        _check_number("learning_rate", self.learning_rate, low=0.0, open_low=True)
        _check_number("decay", self.decay, low=0.0, open_low=True)
        _check_number("smoothing", self.smoothing, low=0.0, high=1.0)
        _check_number("epsilon", self.epsilon, low=0.0, open_low=True)
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("schedule_every", self.schedule_every, ("step", "epoch"))
        check_choice("clip", self.clip, CLIPPING)
        check_choice("direction", self.direction, DIRECTIONS)
        if isinstance(cast(object, self.l2_parameters), str):
            raise TypeError(f"`l2_parameters` must be a tuple of patterns; got the text {self.l2_parameters!r}")
        object.__setattr__(self, "l2_parameters", tuple(self.l2_parameters))
        self._refuse_unread()
        self.higher_is_better()

    def _refuse_unread(self) -> None:
        unread = (
            ("momentum", self.optimizer not in WITH_MOMENTUM, "optimizer='sgd' or 'rmsprop'"),
            ("smoothing", self.optimizer != "rmsprop", "optimizer='rmsprop'"),
            ("epsilon", self.optimizer == "sgd", "optimizer='adam', 'adamw' or 'rmsprop'"),
            ("decay", self.schedule != "exponential", "schedule='exponential'"),
            ("l2_parameters", self.l2_penalty == 0, "l2_penalty above 0"),
            ("target_epochs", self.target is None, "target"),
            ("clip", self.clip_norm == 0, "clip_norm above 0"),
        )
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name, ignored, needed in unread:
            if ignored and getattr(self, name) != defaults[name]:
                raise ValueError(f"`{name}` = {getattr(self, name)!r} would have no effect; it needs {needed}.")
        if self.l2_penalty > 0 and not self.l2_parameters:
            raise ValueError("`l2_penalty` needs `l2_parameters`: patterns of parameter names, for example '*.weight'.")

    def higher_is_better(self) -> bool:
        """Return whether more of the monitored metric is better."""
        if self.direction != "auto":
            return self.direction == "max"
        if self.monitor == "loss":
            return False
        if self.monitor not in METRICS:
            known = ", ".join(["loss", *METRICS])
            raise ValueError(
                f"`monitor` = {self.monitor!r} is not one of {known}, so it is unknown whether higher is better. "
                "Set `direction` to 'max' or 'min'."
            )
        return METRICS[self.monitor].higher_is_better

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainSettings:
        """Return the settings from a dictionary, such as one from `to_dict` or a file."""
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return every field by name, ready for JSON."""
        return {**dataclasses.asdict(self), "l2_parameters": list(self.l2_parameters)}

    @classmethod
    def table(cls) -> list[tuple[str, Any, str]]:
        """Return (name, default, meaning) of every field."""
        return [(field.name, field.default, field.metadata["text"]) for field in dataclasses.fields(cls)]

    def changes(self, stored: Mapping[str, Any]) -> list[str]:
        """Return the fields, unknown ones too, in which a stored run differs in a way that would change its result."""
        free = {"checkpoint_every", "patience", "target", "target_epochs"}
        if self.schedule not in NEEDS_LENGTH:
            free.add("epochs")
        mine, theirs = self.to_dict(), {**TrainSettings().to_dict(), **stored}  # a younger field had its default
        return [name for name in theirs if name not in free and (name not in mine or theirs[name] != mine[name])]


TrainSettings.__init__ = named_arguments(TrainSettings.__init__)  # type: ignore[method-assign]


def _check_number(name: str, value: object, low: float, high: float = math.inf, open_low: bool = False) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be a number; got {value!r}")
    number = float(value)
    if not (number > low or (number == low and not open_low)) or not number < high:
        least = "more than" if open_low else "at least"
        most = f" and less than {high:g}" if high < math.inf else " and finite"
        raise ValueError(f"`{name}` must be {least} {low:g}{most}; got {value!r}")
