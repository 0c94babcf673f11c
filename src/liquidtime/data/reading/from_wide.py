"""Read tables with one sample per row and one channel per column."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from liquidtime.data.container import Findings, SeriesSet, to_times
from liquidtime.data.reading.assemble import Repeats, find_steps, merge_column, refuse_unknown_times
from liquidtime.data.reading.columns import check_column, texts
from liquidtime.data.reading.measured import Measured
from liquidtime.data.reading.opening import add_all, differences, index_levels, open_table
from liquidtime.data.reading.options import Reading
from liquidtime.data.reading.packing import Packing, refuse_ids, stored_already
from liquidtime.data.reading.rows import find_series, is_names, note_repeats
from liquidtime.data.reading.static_features import StaticFeatures
from liquidtime.data.reading.times import read_time_column


def from_wide(
    frame: Any,
    *,
    id: str | None = None,
    time: str | None = None,
    values: Sequence[str] | None = None,
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
    """Read a frame with one sample per row and one channel per column; null and NaN mean "not observed".

    Series are sorted by id, and channels are in the order of the columns. A row in which nothing is observed remains a
    sample, as its time is known.

    Args:
        frame: any data frame (pandas, polars, pyarrow, …), a polars `LazyFrame`, a pyarrow `Dataset`, or the path of a
            file or anything else that `read_frame` takes; a stored set, or its folder, is returned unchanged.
        id: column with the series ids, whole numbers or text; None if the index of a pandas frame has the series and
            the times as its two levels.
        time: column with the times, numbers or time stamps; None in the same case.
        values: columns with the channels; all other columns if None, except row numbers that other libraries write.
        time_unit: unit of numeric times; for time stamps the unit to convert to ("s" if None).
        static: names of columns that do not change within a series, or a table with one row per series.
        static_table: another table with one row per series, whose columns are all static features.
        static_id: id column of `static_table`; the same as `id` if None.
        categorical: names of channels or static features that are categories, not numbers.
        leave: columns that are neither channels nor features of `static_table`, such as the target.
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
    given = {"static": static, "static_table": static_table, "categorical": categorical, "ids": ids, "values": values}
    stored = stored_already(frame, given | reading)
    if stored is not None:
        return stored
    if id is None or time is None:
        levels = index_levels(frame)
        if levels is None:
            raise ValueError(
                "`id` and `time` must name columns; only for a pandas frame with series and times in its index can "
                "they be left out"
            )
        frame, id, time = levels[0], id or levels[1], time or levels[2]
    if out is not None:
        refuse_ids(ids)
        named: dict[str, Any] = {"id": id, "time": time, "values": values, "time_unit": time_unit}
        read = functools.partial(from_wide, **named, leave=leave, **(reading | {"usual": None}))
        return Packing.of(read, named, given, static_id, leave, strict, how).write(
            frame, out, gather=gather, replace=replace
        )
    opened = open_table("frame", frame, how)
    table = opened.frame
    check_column(table, "id", id)
    check_column(table, "time", time)
    static_columns = list(static) if is_names(static) else []
    for name in static_columns:
        check_column(table, "static", name)
    findings = Findings(strict)
    add_all(findings, opened.notes)
    channels = opened.channels({id, time, *static_columns, *leave}, findings) if values is None else list(values)
    for name in channels:
        check_column(table, "values", name)
    if not channels:
        raise ValueError(f"`values` must name at least one column; {id!r}, {time!r} and `static` leave none")
    codes, labels, table = find_series(table, id, ids, findings)
    times = read_time_column(table[time], "time", time_unit, how)
    formats = {**opened.formats, **times.formats}
    add_all(findings, [*times.notes, *differences(formats, how.usual, len(codes))])
    ticks = times.ticks
    refuse_unknown_times(ticks, codes, labels)
    measured = Measured(codes, labels, findings, how)
    features = StaticFeatures(len(labels), findings)
    for name in static_columns:
        features.add_column(table[name], measured, name in categorical)
    if not is_names(static):
        features.add_table(static, static_id or id, labels, categorical, how, leave)
    if static_table is not None:
        features.add_table(static_table, static_id or id, labels, categorical, how, leave)
    for name in categorical:
        if name not in (*channels, *features.names):
            check_column(table, "categorical", name)
            raise ValueError(f"`categorical` must name channels or static features; {name!r} is neither")

    steps = find_steps(codes, ticks, labels, findings)
    matrix = np.empty((len(steps.ticks.values), len(channels)), dtype=np.float32)
    categories: dict[str, tuple[str, ...]] = {}
    repeat_rows: list[int] = []
    names: list[str] = []
    observed = count = 0
    for position, name in enumerate(channels):
        if name in categorical:
            column, categories[name] = measured.categories(name, texts(table[name]))
        else:
            column = measured.read(table[name])
        observed += int(np.count_nonzero(~np.isnan(column)))
        column = steps.sort(column)
        if steps.merged:
            column, repeats = merge_column(steps, column, name in categorical)
            count += repeats.count
            repeat_rows += [int(row) for row in repeats.rows[:3]]
            names += [name] * min(3, repeats.count)
        matrix[:, position] = column
    note_repeats(findings, steps, Repeats(count, np.array(repeat_rows, dtype=np.int64)), names, labels, observed)
    stored_times, origins = to_times(steps.ticks, steps.offsets)
    return SeriesSet(
        offsets=steps.offsets,
        times=stored_times,
        values=matrix,
        channels=tuple(channels),
        ids=labels,
        static=features.matrix(),
        static_names=tuple(features.names),
        time_unit=steps.ticks.unit,
        categories=categories | features.categories,
        origins=origins,
        notes=findings.notes,
        reading=formats,
    )
