"""Output of the commands: text and tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from liquidtime.cli.terminal import printable, printable_json

if TYPE_CHECKING:
    from liquidtime.data import Description
    from liquidtime.tasks.figure_table import Figures

_CHANNELS, _CLASSES = 12, 20


class Printer:
    """Prints for people; if the result is JSON, to standard error, so that standard output has only the JSON.

    Args:
        as_json: whether the result is printed as JSON.
        silent: print nothing; used by all ranks but one.
    """

    def __init__(self, as_json: bool, silent: bool = False) -> None:
        from rich.console import Console

        self.as_json, self.silent = as_json and not silent, silent
        self.console = Console(stderr=as_json, highlight=False, quiet=silent)
        if not self.console.is_terminal:
            self.console.width = 110

    def line(self, text: str = "") -> None:
        """Print a text unchanged, except for control characters."""
        self.console.print(printable(text), markup=False, soft_wrap=True)

    def data(self, about: Description, what: str) -> None:
        """Print a description of the data."""
        lines = str(about).splitlines()
        if len(about.channels) > _CHANNELS:
            order = sorted(about.channels, key=lambda column: -column.observed)
            names = ", ".join(f"{column.name} {column.observed:.0%}" for column in order[:4])
            rare = ", ".join(f"{column.name} {column.observed:.1%}" for column in order[-3:])
            channels = f"channels ({len(order)}), share of samples observed: {names}, …, {rare}"
            static = ", ".join(column.name for column in about.static)
            lines = [*lines[:4], channels, *([f"static features ({len(about.static)}): {static}"] if static else [])]
            lines += ["notes:", *(f"  {note}" for note in about.notes)] if about.notes else []
        self.line(what)
        for text in lines:
            self.line(f"  {text}")

    def classes(self, labels: Any) -> None:
        """Print the number of series in each class.

        Args:
            labels: (S,) classes of the series.
        """
        from collections import Counter

        counts = Counter(str(label) for label in labels)
        total = sum(counts.values())
        named = [f"{name} {count:,} ({100 * count / total:.1f} %)" for name, count in counts.most_common(_CLASSES)]
        rest = f", and {len(counts) - _CLASSES} rarer ones" if len(counts) > _CLASSES else ""
        self.line(f"  classes ({len(counts)}): {', '.join(named)}{rest}")

    def scores(self, figures: Figures, caption: str) -> None:
        """Print the figures as a table with one column per model."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        from liquidtime.tasks.figure_table import rows_of

        header, *rows = rows_of(figures)
        table = Table(box=SIMPLE_HEAD, pad_edge=False, caption=Text(printable(caption)), caption_justify="left")
        for name in header:
            table.add_column(Text(printable(name)), overflow="fold")
        for row in rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        self.console.print(table)

    def result(self, values: Mapping[str, Any]) -> None:
        """Print the result as JSON, if --json was given."""
        if self.as_json:
            sys.stdout.write(printable_json(json.dumps(values, indent=2, ensure_ascii=False, default=str)) + "\n")
