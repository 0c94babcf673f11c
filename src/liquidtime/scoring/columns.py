"""The meaning of the columns of a table; stored with the model, so that it need not be specified again."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.data import SeriesSet
    from liquidtime.data.reading import Table
    from liquidtime.scoring.reading_options import ReadingOptions


@dataclass(frozen=True)
class Columns:
    """The meaning of the columns of a table.

    Args:
        id: column of the ids of series.
        time: column of the times.
        channel: column of channel names, if a row is one measurement; None if a row is one sample.
        value: column of the values that belong to `channel`.
        values: columns of the channels, if a row is one sample; empty for all other columns.
        static: columns or channels that do not change within a series.
        categorical: channels or static features that are categorical.
        missing: numbers and words that mean "not observed".
        time_unit: unit of the times.
        static_id: column of ids in the table of static features; None if there was none.
        reading: format of the table, see `SeriesSet.reading`.
    """

    id: str
    time: str
    channel: str | None = None
    value: str | None = None
    values: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: tuple[float | str, ...] = ()
    time_unit: str | None = None
    static_id: str | None = None
    reading: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.channel is None) != (self.value is None):
            option, other = ("--channel", "--value") if self.value is None else ("--value", "--channel")
            raise ValueError(f"{option} needs {other} too: a table with one measurement per row has both columns")
        if self.channel is not None and self.values:
            raise ValueError("--values is for a table with one column per channel; leave out --channel and --value")
        if not isinstance(self.reading, Mapping) or not all(isinstance(text, str) for text in self.reading.values()):
            raise ValueError(f"`reading` must be texts by name; got {self.reading!r}")

    def read(
        self,
        table: Table,
        options: ReadingOptions,
        *,
        static_table: Any = None,
        leave: Sequence[str | None] = (),
        strict: bool = False,
    ) -> SeriesSet:
        """Return the series of a table.

        Args:
            table: the table.
            options: reading options from the command line; missing ones are those of `self`.
            static_table: the table of static features; None for the file in `options`, if any.
            leave: columns that are neither channels nor static features, if they exist.
            strict: whether to refuse data that would be repaired.
        """
        from liquidtime.data import from_long, from_wide
        from liquidtime.scoring.stored_tables import without

        if table.stored is not None:
            return without(table.stored, leave, options)
        rest: Any = {
            "id": self.id, "time": self.time, "time_unit": self.time_unit, "static": self.static,
            "categorical": self.categorical, "missing": (*self.missing, *options.missing),
            "time_format": options.time_format, "decimal": options.decimal, "usual": self.reading,
            "static_table": options.static_table if static_table is None else static_table,
            "static_id": options.static_id or self.static_id,
            "leave": tuple(name for name in leave if name is not None), "strict": strict,
        }  # fmt: skip
        if self.channel is not None and self.value is not None:
            return from_long(table, channel=self.channel, value=self.value, **rest)
        return from_wide(table, values=self.values or None, **rest)

    def read_new(
        self,
        table: Table,
        options: ReadingOptions,
        channels: Sequence[str],
        static: Sequence[str],
        unit: str | None,
        strict: bool,
    ) -> SeriesSet:
        """Return the series of a table for predictions; the model reports columns that are missing.

        Args:
            table: the table.
            options: reading options from the command line.
            channels: channels of training.
            static: static features of training.
            unit: time unit of training; times in other units are converted.
            strict: whether to refuse data that would be repaired.
        """
        from liquidtime.scoring.stored_tables import without

        if table.stored is not None:
            data = without(table.stored, (), options)
            return data.in_unit(unit) if unit is not None and data.time_unit not in (None, unit) else data
        frame = table.frame
        names = set(frame.columns)
        if self.channel in names:
            names |= set(frame[self.channel].cast(str).unique().drop_nulls().to_list())
        values = () if self.channel is not None else tuple(name for name in channels if name in frame.columns)
        if self.channel is None and not values:
            raise ValueError(
                f"the table must have columns of training ({', '.join(channels[:5])}); it has "
                f"{', '.join(frame.columns[:8])}"
            )
        features = None
        if options.static_table is not None:
            features = self._static_table(options, static)
            names |= set(features.frame.columns)
        elif self.static_id is not None:
            text = "the model was trained with a static table; pass that of these series with --static-table"
            warnings.warn(text, stacklevel=2)
        here = dataclasses.replace(
            self,
            values=values,
            static=tuple(name for name in self.static if name in names),
            categorical=tuple(name for name in self.categorical if name in names),
        )
        data = here.read(table, options, static_table=features, strict=strict)
        return data.in_unit(unit) if unit is not None and data.time_unit not in (None, unit) else data

    def _static_table(self, options: ReadingOptions, static: Sequence[str]) -> Table:
        """Return the table of static features in `options`, with only the ids and the features of training."""
        from liquidtime.data.reading import read_table

        assert options.static_table is not None
        table = read_table(options.static_table, options.reading(self.reading).hints())
        id = options.static_id or self.static_id or self.id
        wanted = [name for name in table.frame.columns if name == id or name in static]
        return dataclasses.replace(table, frame=table.frame.select(wanted))

    def remembered(self, options: ReadingOptions, data: SeriesSet) -> Columns:
        """Return these columns with the reading options and the detected format, to be stored with the model."""
        from liquidtime.data.reading import Reading

        static_id = (options.static_id or self.id) if options.static_table is not None else None
        missing = Reading(missing=(*self.missing, *options.missing)).missing
        return dataclasses.replace(self, missing=missing, static_id=static_id, reading=dict(data.reading))

    def changed(self, **columns: str | None) -> Columns:
        """Return these columns with some of them replaced; None keeps a column."""
        new: Any = {name: value for name, value in columns.items() if value is not None}
        return dataclasses.replace(self, **new)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Columns:
        """Return the columns from the result of `to_dict`."""
        fields: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
        return Columns(**fields)
