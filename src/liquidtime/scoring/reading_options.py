"""Options for reading tables, as specified by users of a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.data.reading import Reading


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading tables; None and () if not specified.

    Args:
        separator: separator of text files.
        decimal: decimal mark of numbers.
        encoding: encoding of text files.
        time_format: format of times.
        missing: numbers and words that mean "not observed".
        sheet: sheet of a spreadsheet.
        query: query for a database.
        static_table: a table with one row per series.
        static_id: its column of ids.
        context: the command for which they were specified; None outside the command line.
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
        """Return the options without the command, so that they can be sent to other processes."""
        return dataclasses.replace(self, context=None)

    def reading(self, usual: Mapping[str, str] | None = None) -> Reading:
        """Return the options for the table of measurements.

        Args:
            usual: format that was detected in the table of training.
        """
        from liquidtime.data.reading import Reading

        names = ("separator", "decimal", "encoding", "time_format", "missing", "sheet", "query")
        return Reading(**{name: getattr(self, name) for name in names}, usual=usual)
