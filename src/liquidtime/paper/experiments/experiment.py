"""What an experiment is made of."""

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
    """What a row needs of a model: `title` and `paper` as in `NetworkModel`, and `fit`."""

    @property
    def title(self) -> str:
        """As our tables write it."""

    @property
    def paper(self) -> tuple[str, ...]:
        """As the paper's tables write it, any of these."""

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Train and judge."""


@dataclass(frozen=True)
class Row:
    """One line of our table: a model with its settings.

    Attributes:
        model: what is trained.
        settings: how; None for a model that has its own, for an average, and where a search finds them.
        note: what a reader of the table should know, e.g. where the settings are from.
        label: behind the model's title, where a model has several rows.
        options: what `load` is given besides the protocol's, e.g. another scaling.
        protocols: that it is for; empty = all of the experiment's.
        why: what is known of a difference from the paper's figure; rows with a label have none.
        see: names of rows that tell more of it.
        last_epoch: report the last epoch under the honest protocol too, e.g. where no validation part is loaded.
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
        """As tables write it."""
        return f"{self.model.title} ({self.label})" if self.label else self.model.title


@dataclass(frozen=True)
class Experiment:
    """One table.

    Attributes:
        name: on the command line and in file names.
        title: of the table.
        task: what is asked.
        load: (data_dir, **options) -> the data.
        protocols: what `load` is given, by name; "honest" chooses its epoch on validation, the others take the last.
        rows: by name on the command line.
        published: the paper's table.
        digits: behind the point, in tables.
        search: for settings on its validation part; `with_searched` adds the rows that take them.

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
            protocol: of `protocols`.
            data_dir: a folder with the data.
            limit: only this many sequences of each part, the first ones.
            **options: of a row, for `load`.

        """
        check_choice("protocol", protocol, self.protocols)
        split = self.load(data_dir, **{**self.protocols[protocol], **options})
        if limit is None:
            return split
        check_size("limit", limit)
        cut = {name: part.take(torch.arange(min(limit, len(part)))) for name, part in split.parts().items()}
        return Split(cut["train"], cut.get("validation"), cut["test"])

    def is_averaged(self, name: str) -> bool:
        """Whether another row is made from this one's predictions."""
        return any(row.average is not None and row.average[0] == name for row in self.rows.values())

    def row(self, name: str) -> Row:
        """Return the row of a name."""
        check_choice("model", name, self.rows)
        return self.rows[name]


def with_searched(rows: Mapping[str, Row], search: Search) -> dict[str, Row]:
    """Return rows with one more for each model of a search: the same model with the settings of its best trial."""
    more = {
        f"{name}_searched": Row(rows[name].model, None, search.note(), SEARCHED, rows[name].options, search=name)
        for name in search.rows
    }
    return {**rows, **more}
