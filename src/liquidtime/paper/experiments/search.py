"""A random search for settings, declared: what may vary, for which models, and how often is tried."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from liquidtime._checks import check_size
from liquidtime.paper.fitting import Settings

SEED = 20261118
Space = Mapping[str, Sequence[Any]]
"""Fields of `Settings` and the values that each is drawn from, all equally likely."""


@dataclass(frozen=True)
class Family:
    """Rows whose networks have settings that others lack, or need them elsewhere.

    Attributes:
        rows: their names.
        space: what is drawn for them besides, or in place of, what is drawn for all.
        fixed: what every drawn trial of them has besides, or in place of, what every trial has.

    """

    rows: tuple[str, ...]
    space: Space = dataclasses.field(default_factory=dict)
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Search:
    """A search on the validation part with the same number of trials for every model.

    The first trial has the row's own settings and as many epochs as the others. These start from the same settings,
    with what is fixed and what is drawn. Trial k draws a field's value by k and the field alone, so models with the
    same space are tried with the same values. Where trials are short, all of them are, the first too, and the row's
    seeds are trained at full length.

    Attributes:
        rows: names of the rows that are searched for.
        trials: number of trials per row.
        space: what is drawn for all of them.
        fixed: what all drawn trials have, such as enough epochs to converge.
        families: what some of them have besides.
        epochs: of a trial; None = those of its settings.
        sequences: of the training part that a trial learns from, the first ones; None = all.

    """

    rows: tuple[str, ...]
    trials: int
    space: Space
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    families: tuple[Family, ...] = ()
    epochs: int | None = None
    sequences: int | None = None

    def space_of(self, row: str) -> dict[str, Sequence[Any]]:
        """Return what is drawn for a row, by field."""
        space = dict(self.space)
        for family in self.families:
            if row in family.rows:
                space.update(family.space)
        return space

    def settings(self, row: str, start: Settings, number: int) -> Settings:
        """Return the settings of a trial.

        Args:
            row: name of the row.
            start: the row's own settings.
            number: of the trial, from 0.

        """
        values = dict(self.fixed)
        for family in self.families:
            if row in family.rows:
                values.update(family.fixed)
        if check_size("number", number, least=0) == 0:
            return dataclasses.replace(start, epochs=values.get("epochs", start.epochs))
        for field, choices in self.space_of(row).items():
            rng = np.random.default_rng([SEED, number, zlib.crc32(field.encode())])
            values[field] = choices[int(rng.integers(len(choices)))]
        return dataclasses.replace(start, **values)

    def note(self) -> str:
        """Return what a table says of a row whose settings were found so."""
        short = "" if self.epochs is None else f" of {self.epochs} epochs"
        few = "" if self.sequences is None else f" on {self.sequences:,} training sequences"
        return f"best of {self.trials} trials{short}{few} by validation data, as many for every model searched"
