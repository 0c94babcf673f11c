"""The parts of an experiment's declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

from liquidtime._checks import check_choice, check_size
from liquidtime.paper.datasets import Split
from liquidtime.paper.experiments.published import PaperRow
from liquidtime.paper.experiments.search import Search
from liquidtime.paper.fitting import Outcome, Settings, Task, Trial

HONEST = "honest"
SEARCHED = "searched"
OTHER_FORM = "The quoted figure is of another form of this network."
UNSAID = "The paper does not print its settings for this model."


class Model(Protocol):
    """What a row needs from a model: `title` and `paper` as in `NetworkModel`, and `fit`."""

    @property
    def title(self) -> str:
        """Title in our tables."""

    @property
    def paper(self) -> tuple[str, ...]:
        """Titles in the paper's tables."""

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Train and test."""


@dataclass(frozen=True)
class Row:
    """One line of our table: a model with its settings.

    Attributes:
        model: the model.
        settings: its settings; None if the model has its own, for an average, and if a search finds them.
        note: remark for readers of the table, such as the origin of the settings.
        label: label after the title, if a model has several rows.
        options: arguments of `load` besides those of the protocol, such as another scaling.
        protocols: protocols that the row is for; empty for all.
        why: known reason for a difference from the paper's figure; rows with a label have none.
        see: names of rows that say more about it.
        last_epoch: report the last epoch under the honest protocol too, such as without a validation part.
        average: (row, n): nothing is trained; seed s is the mean prediction of that row's seeds n·s … n·s + n - 1.
        search: name of the row whose best trial in the experiment's search has the settings; see `Search`.

    """

    model: Model
    settings: Settings | None
    note: str = ""
    label: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    protocols: tuple[str, ...] = ()
    why: str = ""
    see: tuple[str, ...] = ()
    last_epoch: bool = False
    average: tuple[str, int] | None = None
    search: str | None = None

    @property
    def title(self) -> str:
        """Title in tables."""
        return f"{self.model.title} ({self.label})" if self.label else self.model.title


@dataclass(frozen=True)
class Experiment:
    """One table.

    Attributes:
        name: name on the command line and in file names.
        title: title of the table.
        task: the task.
        load: (data_dir, **options) -> the data.
        protocols: arguments of `load` by name; "honest" chooses its epoch on validation, others use the last epoch.
        rows: rows by name on the command line.
        published: the paper's table.
        digits: digits after the decimal point, in tables.
        search: search for settings on the validation part; `with_searched` adds the rows that use them.

    """

    name: str
    title: str
    task: Task
    load: Callable[..., Split]
    protocols: Mapping[str, Mapping[str, Any]]
    rows: Mapping[str, Row]
    published: tuple[PaperRow, ...]
    digits: int = 3
    search: Search | None = None

    def data(
        self, protocol: str, data_dir: str | Path | None = None, limit: int | None = None, **options: Any
    ) -> Split:
        """Return the data of a protocol.

        Args:
            protocol: one of `protocols`.
            data_dir: folder with the data.
            limit: use only this many sequences of each part, the first ones.
            **options: options of a row, for `load`.

        """
        check_choice("protocol", protocol, self.protocols)
        split = self.load(data_dir, **{**self.protocols[protocol], **options})
        if limit is None:
            return split
        check_size("limit", limit)
        cut = {name: part.take(torch.arange(min(limit, len(part)))) for name, part in split.parts().items()}
        return Split(cut["train"], cut.get("validation"), cut["test"])

    def is_averaged(self, name: str) -> bool:
        """Return whether another row averages the predictions of this one."""
        return any(row.average is not None and row.average[0] == name for row in self.rows.values())

    def row(self, name: str) -> Row:
        """Return a row by name."""
        check_choice("model", name, self.rows)
        return self.rows[name]


def with_searched(rows: Mapping[str, Row], search: Search) -> dict[str, Row]:
    """Return the rows plus one for each model of a search: the same model with the settings of its best trial."""
    more = {
        f"{name}_searched": Row(rows[name].model, None, search.note(), SEARCHED, rows[name].options, search=name)
        for name in search.rows
    }
    return {**rows, **more}
