"""The declaration of a random search for settings: what varies, for which models, and how many trials there are."""

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
"""Fields of `Settings` and the equally likely values of each."""


@dataclass(frozen=True)
class Family:
    """Rows whose networks have settings that others do not have, or need other values.

    Attributes:
        rows: names of the rows.
        space: values to draw for them, which extend or replace those for all.
        fixed: settings of all their random trials, which extend or replace those for all.

    """

    rows: tuple[str, ...]
    space: Space = dataclasses.field(default_factory=dict)
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Search:
    """A search on the validation part with the same number of trials for every model.

    The first trial has the row's own settings and as many epochs as the others. The other trials replace what is fixed
    and what is drawn. The value of a field in trial k depends only on k and the field, so models with the same space
    try the same values. If trials are short, all of them are, including the first, and the seeds of the row are
    trained at full length.

    Attributes:
        rows: names of the rows whose settings are searched for.
        trials: number of trials per row.
        space: values to draw, for all rows.
        fixed: settings of all random trials, such as enough epochs to converge.
        families: further values and settings for some rows.
        epochs: epochs of a trial; None for those of its settings.
        sequences: number of training sequences in a trial, the first ones; None for all.

    """

    rows: tuple[str, ...]
    trials: int
    space: Space
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    families: tuple[Family, ...] = ()
    epochs: int | None = None
    sequences: int | None = None

    def space_of(self, row: str) -> dict[str, Sequence[Any]]:
        """Return the values to draw for a row, by field."""
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
            number: number of the trial, from 0.

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
        """Return the remark of a table about a row whose settings were found by this search."""
        short = "" if self.epochs is None else f" of {self.epochs} epochs"
        few = "" if self.sequences is None else f" on {self.sequences:,} training sequences"
        return f"best of {self.trials} trials{short}{few} by validation data, the same number for every model searched"
