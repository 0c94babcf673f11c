"""Read tables with one measurement per row: id, time, channel, value."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Findings, Note, SeriesSet, to_times
from liquidtime.data.reading.assemble import Steps, find_steps, refuse_unknown_times, scatter
from liquidtime.data.reading.columns import (
    Column,
    check_column,
    factorise,
    is_text,
    label_of,
    texts,
)
from liquidtime.data.reading.measured import Measured
from liquidtime.data.reading.opening import add_all, differences, open_table
from liquidtime.data.reading.options import Reading
from liquidtime.data.reading.packing import Packing, refuse_ids, stored_already
from liquidtime.data.reading.rows import find_series, is_names, note_repeats
from liquidtime.data.reading.static_features import StaticFeatures
from liquidtime.data.reading.times import read_time_column
from liquidtime.errors import nearest


def from_long(
    frame: Any,
    *,
    id: str,
    time: str,
    channel: str,
    value: str,
    time_unit: str | None = None,
    static: Any = (),
    static_table: Any = None,
    static_id: str | None = None,
    categorical: Sequence[str] = (),
    leave: Sequence[str] = (),
    ids: Any = None,
    strict: bool = False,
    out: str | os.PathLike[str] | None = None,
    gather: bool = True,
    replace: bool = False,
    **reading: Any,
) -> SeriesSet:
    """Read a frame with one measurement per row.

    Series are sorted by id and channels by name, whatever the order of the rows. Rows without a value are left out, but
    their series are kept.

    Args:
        frame: any data frame (pandas, polars, pyarrow, …), a polars `LazyFrame`, a pyarrow `Dataset`, or the path of a
            file or anything else that `read_frame` takes; a stored set, or its folder, is returned unchanged.
        id: column with the series ids, whole numbers or text.
        time: column with the times, numbers or time stamps.
        channel: column with the channel names.
        value: column with the values.
        time_unit: unit of numeric times; for time stamps the unit to convert to ("s" if None).
        static: names of columns or of channels that do not change within a series, or a table with one row per series.
        static_table: another table with one row per series, whose columns are all static features.
        static_id: id column of `static_table`; the same as `id` if None.
        categorical: names of channels or static features that are categories, not numbers.
        leave: columns of `static_table` that are not features, such as the target.
        ids: ids of the series to read, in this order; a series without rows becomes an empty series.
        strict: refuse data that would have to be repaired or dropped.
        out: folder to which the set is written piece by piece, instead of being kept in memory; see
            `liquidtime.data.reading.packing`.
        gather: with `out`, first look for series that are spread over several files, and bring them together.
        replace: with `out`, whether an existing stored set may be replaced.
        **reading: options for reading the table: `missing` (numbers and words that mean "not observed"), `time_format`,
            `separator`, `decimal`, `encoding`, `sheet`, `query` and `usual`; see `Reading`.

    Raises:
        TypeError: times or values have a wrong type.
        ValueError: columns are missing, times are NaN or infinite, values are not numbers, or there are no rows.

    """
    how = Reading.of(reading)
    given = {"static": static, "static_table": static_table, "categorical": categorical, "ids": ids}
    stored = stored_already(frame, given | reading)
    if stored is not None:
        return stored
    if out is not None:
        refuse_ids(ids)
        named: dict[str, Any] = {"id": id, "time": time, "channel": channel, "value": value, "time_unit": time_unit}
        read = functools.partial(from_long, **named, **(reading | {"usual": None}))
        return Packing.of(read, named, given, static_id, leave, strict, how).write(
            frame, out, gather=gather, replace=replace
        )
    opened = open_table("frame", frame, how)
    table = opened.frame
    for argument, name in (("id", id), ("time", time), ("channel", channel), ("value", value)):
        check_column(table, argument, name)
    findings = Findings(strict)
    add_all(findings, opened.notes)
    codes, labels, table = find_series(table, id, ids, findings)
    times = read_time_column(table[time], "time", time_unit, how)
    formats = {**opened.formats, **times.formats}
    add_all(findings, [*times.notes, *differences(formats, how.usual, len(codes))])
    ticks = times.ticks
    refuse_unknown_times(ticks, codes, labels)
    names, channel_codes = _channels(table[channel])
    has_name = np.array([name != "" for name in names], dtype=bool)
    present = has_name[channel_codes]
    if not present.all():
        what = "rows with an empty channel name"
        findings.add(Note("dropped", what, int((~present).sum()), len(present)))
    measured = Measured(codes, labels, findings, how)
    values, categories = _values(table[value], names, channel_codes, present, categorical, measured)

    features = StaticFeatures(len(labels), findings)
    as_static = np.zeros(len(names), dtype=bool)
    if is_names(static):
        for name in static:
            if name in table.columns:
                features.add_column(table[name], measured, name in categorical)
            elif name in names:
                as_static[names.index(name)] = True
                only = np.where(channel_codes == names.index(name), values, np.float32(np.nan))
                features.add(name, only, measured, categories.get(name))
            else:
                hint = nearest(name, [*table.columns, *names]) or "."
                raise ValueError(f"`static` must name columns or channels; {name!r} is neither{hint}")
    else:
        features.add_table(static, static_id or id, labels, categorical, how, leave)
    if static_table is not None:
        features.add_table(static_table, static_id or id, labels, categorical, how, leave)
    _check_categorical(categorical, [*names, *features.names])

    unobserved = present & np.isnan(values)
    findings.add(Note("kept", "rows have no value (not observed)", int(unobserved.sum()), len(unobserved)))
    measurements = present & ~unobserved & ~as_static[channel_codes]
    del present, unobserved
    if not measurements.all():
        codes, ticks, channel_codes, values = (
            codes[measurements],
            ticks.rows(measurements),
            channel_codes[measurements],
            values[measurements],
        )
    is_channel = has_name & ~as_static
    if not is_channel.all():
        channel_codes = (np.cumsum(is_channel) - 1).astype(channel_codes.dtype)[channel_codes]
    channels = tuple(name for name, flag in zip(names, is_channel, strict=True) if flag)

    del measured, measurements, table
    steps = find_steps(codes, ticks, labels, findings)
    del codes, ticks, times
    values = steps.sort(values)
    channel_codes = steps.sort(channel_codes)
    steps = dataclasses.replace(steps, order=None)  # no longer needed, and large
    matrix = _fill(steps, channel_codes, values, channels, categories, labels, findings)
    stored_times, origins = to_times(steps.ticks, steps.offsets)
    return SeriesSet(
        offsets=steps.offsets,
        times=stored_times,
        values=matrix,
        channels=channels,
        ids=labels,
        static=features.matrix(),
        static_names=tuple(features.names),
        time_unit=steps.ticks.unit,
        categories={name: labels for name, labels in categories.items() if name in channels} | features.categories,
        origins=origins,
        notes=findings.notes,
        reading=formats,
    )


def _channels(column: Column) -> tuple[list[str], npt.NDArray[np.integer[Any]]]:
    """Return the channel names, with "" for null, and the channel of each row."""
    if column.null_count() > 0 or not (is_text(column) or column.dtype.is_integer()):
        column = column.cast(nw.String).fill_null("")
    codes, labels = factorise(column)
    stripped = [label_of(name).strip() for name in labels]
    names = sorted(set(stripped), key=stripped.index)
    if len(names) < len(stripped):
        codes = np.array([names.index(name) for name in stripped], dtype=np.int32)[codes]
    return names, codes.astype(np.int16) if len(names) < 2**15 else codes


def _values(
    column: Column,
    names: list[str],
    channel_codes: npt.NDArray[np.integer[Any]],
    present: npt.NDArray[np.bool_],
    categorical: Sequence[str],
    measured: Measured,
) -> tuple[npt.NDArray[np.float32], dict[str, tuple[str, ...]]]:
    """Return (R,) values; those of categorical channels are positions in their categories."""
    chosen = [names.index(name) for name in categorical if name in names]
    if not chosen:
        return measured.read(column, None if present.all() else present), {}
    special = np.isin(channel_codes, chosen)
    values = measured.read(column, present & ~special)
    categories: dict[str, tuple[str, ...]] = {}
    for code in chosen:
        rows = np.flatnonzero(channel_codes == code)
        values[rows], categories[names[code]] = measured.categories(names[code], texts(column[rows.tolist()]))
    return values, categories


def _check_categorical(categorical: Sequence[str], names: list[str]) -> None:
    for name in categorical:
        if name not in names:
            hint = nearest(name, names) or "."
            raise ValueError(f"`categorical` must name channels or static features; {name!r} is neither{hint}")


def _fill(
    steps: Steps,
    channel_codes: npt.NDArray[np.integer[Any]],
    values: npt.NDArray[np.float32],
    channels: tuple[str, ...],
    categories: dict[str, tuple[str, ...]],
    ids: npt.NDArray[Any],
    findings: Findings,
) -> npt.NDArray[np.float32]:
    """Return (N, C) values from those of the rows, in the order of the steps, with a note on repeats."""
    flags = np.array([name in categories for name in channels], dtype=bool)
    matrix, repeats = scatter(steps, channel_codes, values, len(channels), flags)
    names = [channels[channel_codes[row]] for row in repeats.rows[:3]]
    note_repeats(findings, steps, repeats, names, ids, len(values))
    return matrix
