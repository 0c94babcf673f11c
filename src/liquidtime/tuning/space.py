"""The search space: ranges and lists of settings, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from liquidtime.errors import nearest


@dataclass(frozen=True)
class Range:
    """A range of numbers from `low` to `high`, to search for a setting.

    Args:
        low: smallest number.
        high: largest number.
        log: whether to sample on a logarithmic scale.
        whole: whether to sample only whole numbers.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"a range must go from a number to a larger one; got {self.low} to {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a range on a log scale must start above 0; got {self.low}")

    def suggested(self, trial: Any, name: str) -> Any:
        """Return the value for a trial of Optuna."""
        if self.whole:
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}{':log' if self.log else ''}"


@dataclass(frozen=True)
class Choices:
    """A choice among a few values, to search for a setting.

    Args:
        values: None, booleans, numbers or strings.
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if len(self.values) < 2 or len(set(map(repr, self.values))) != len(self.values):
            raise ValueError(f"there must be at least two different values to choose from; got {list(self.values)}")
        if not all(value is None or isinstance(value, bool | int | float | str) for value in self.values):
            raise ValueError(f"values to choose from must be numbers, strings or None; got {list(self.values)}")

    def suggested(self, trial: Any, name: str) -> Any:
        """Return the value for a trial of Optuna."""
        return trial.suggest_categorical(name, list(self.values))

    def __str__(self) -> str:
        return ",".join("none" if value is None else str(value) for value in self.values)


Space = Mapping[str, Range | Choices]
USUAL: dict[str, Range | Choices] = {
    "hidden_size": Range(8, 128, log=True, whole=True),
    "backbone_units": Range(16, 128, log=True, whole=True),
    "read_out_units": Range(16, 256, log=True, whole=True),
    "learning_rate": Range(3e-4, 1e-2, log=True),
    "epochs": Range(4, 60, log=True, whole=True),
    "dropout": Range(0.0, 0.7),
    "channel_dropout": Range(0.0, 0.5),
    "weight_decay": Range(1e-4, 1e-1, log=True),
}
"""The default search space."""


def space_of(space: Mapping[str, Any] | None, fixed: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Return the search space.

    Args:
        space: by names of settings, a `Range`, (low, high), a list of values, or the text of one; None for `USUAL`.
        fixed: settings with a fixed value, which are not searched.
        known: names of all settings.

    Raises:
        ValueError: a setting is unknown or has a fixed value, or its entry is neither a range nor a list.

    """
    chosen: dict[str, Any] = dict(USUAL) if space is None else {name: _read(name, one) for name, one in space.items()}
    for name in chosen:
        if name not in known or name in ("random_state", "verbose", "n_jobs", "device"):
            raise ValueError(f"`space` has {name!r}, which is not a setting that can be searched{nearest(name, known)}")
        if space is not None and name in fixed:
            raise ValueError(f"`{name}` has the value {fixed[name]!r} and is also in `space`; leave out one of them")
    left = {name: one for name, one in chosen.items() if name not in fixed}
    if not left:
        raise ValueError("`space` must have at least one setting without a fixed value")
    return left


def _read(name: str, one: Any) -> Range | Choices:
    try:
        if isinstance(one, Range | Choices):
            return one
        if isinstance(one, str):
            return read_text(one)
        if isinstance(one, tuple) and len(one) == 2 and all(_number(end) for end in one):
            return Range(*one, whole=all(isinstance(end, int) for end in one))
        if isinstance(one, list):
            return Choices(tuple(one))
    except ValueError as error:
        raise ValueError(f"`space` of {name!r}: {error}") from error
    raise ValueError(f"`space` of {name!r} must be (low, high), a list of values, or a string; got {one!r}")


def read_text(text: str) -> Range | Choices:
    """Return the space that a string describes: "16..128", "3e-4..1e-2:log", or "cfc,gru,none".

    Raises:
        ValueError: it describes none of these.

    """
    if ".." in text:
        ends, _, scale = text.partition(":")
        low, _, high = ends.partition("..")
        if scale not in ("", "log"):
            raise ValueError(f"a range may end in ':log'; got {text!r}")
        try:
            whole = all(end.strip().lstrip("-").isdecimal() for end in (low, high))
            return Range(float(low), float(high), scale == "log", whole)
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            raise ValueError(f"a range is two numbers with '..' between them; got {text!r}") from None
    return Choices(tuple(_value(word.strip()) for word in text.split(",")))


def _value(word: str) -> Any:
    if word.lower() in ("none", "true", "false"):
        return {"none": None, "true": True, "false": False}[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
