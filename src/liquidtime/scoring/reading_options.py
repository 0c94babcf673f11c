"""What is said about how tables are read, by those who use a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.data.reading import Reading


@dataclass(frozen=True)
class ReadingOptions:
    """What was typed about how tables are read; None and () where nothing was.

    Args:
        separator: of text files.
        decimal: mark of numbers.
        encoding: of text files.
        time_format: of times.
        missing: numbers and words that mean "not observed".
        sheet: of a spreadsheet.
        query: of a database.
        static_table: a table with one row per series.
        static_id: its column of ids.
        context: of the command that they were typed for; None outside the command line.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    time_format: str | None = None
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    query: str | None = None
    static_table: str | None = None
    static_id: str | None = None
    context: Any = field(default=None, repr=False, compare=False)

    def plain(self) -> ReadingOptions:
        """Return them without the command, as other processes can take them."""
        return dataclasses.replace(self, context=None)

    def reading(self, usual: Mapping[str, str] | None = None) -> Reading:
        """Return the options for the table of measurements.

        Args:
            usual: what was found in the table of training.
        """
        from liquidtime.data.reading import Reading

        names = ("separator", "decimal", "encoding", "time_format", "missing", "sheet", "query")
        return Reading(**{name: getattr(self, name) for name in names}, usual=usual)
