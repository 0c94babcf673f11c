"""Which columns of a table mean what; stored with the model, so that they need not be said again."""

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
    """The meaning of a table's columns.

    Args:
        id: column of the series' ids.
        time: column of the times.
        channel: column of channel names, where a row is one measurement; None where a row is one sample.
        value: column of the values that belong to `channel`.
        values: columns of the channels, where a row is one sample; empty for all others.
        static: columns or channels that do not change within a series.
        categorical: channels or static features that are categories.
        missing: numbers and words that mean "not observed".
        time_unit: of the times.
        static_id: column of ids in the table of static features; None where there was none.
        reading: how the table was written, as `SeriesSet.reading` has it.
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
            given, other = ("--channel", "--value") if self.value is None else ("--value", "--channel")
            raise ValueError(f"{given} needs {other} too: a table with one measurement per row has both columns")
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
            table: as it was read.
            options: what was typed about reading; what it does not say is as in `self`.
            static_table: the table of static features; None for the file that was typed, if any.
            leave: columns that are neither channels nor static features, if they are there.
            strict: refuse what would be repaired.
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
        """Return the series of a table that a model is to be used on; what it lacks, the model will say.

        Args:
            table: as it was read.
            options: what was typed about reading.
            channels: of training.
            static: static features of training.
            unit: of training; times in another are converted.
            strict: refuse what would be repaired.
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
            text = "the model was trained with a static table; give that of these series with --static-table"
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
        """Return the typed table of static features, with the ids and the features of training alone."""
        from liquidtime.data.reading import read_table

        assert options.static_table is not None
        table = read_table(options.static_table, options.reading(self.reading).hints())
        id = options.static_id or self.static_id or self.id
        wanted = [name for name in table.frame.columns if name == id or name in static]
        return dataclasses.replace(table, frame=table.frame.select(wanted))

    def remembered(self, options: ReadingOptions, data: SeriesSet) -> Columns:
        """Return these columns with what was typed about reading and found in reading, for the model to remember."""
        from liquidtime.data.reading import Reading

        static_id = (options.static_id or self.id) if options.static_table is not None else None
        missing = Reading(missing=(*self.missing, *options.missing)).missing
        return dataclasses.replace(self, missing=missing, static_id=static_id, reading=dict(data.reading))

    def changed(self, **given: str | None) -> Columns:
        """Return these columns with those that were given in place of their own."""
        new: Any = {name: value for name, value in given.items() if value is not None}
        return dataclasses.replace(self, **new)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Columns:
        """Return what `to_dict` wrote."""
        fields: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
        return Columns(**fields)
