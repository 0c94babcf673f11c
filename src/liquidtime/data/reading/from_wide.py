"""One sample per row, one channel per column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from liquidtime.data.container import Findings, SeriesSet, as_ticks, to_times
from liquidtime.data.reading.assemble import Repeats, find_steps, merge_column, refuse_unknown_times
from liquidtime.data.reading.columns import as_frame, check_column, texts, time_array
from liquidtime.data.reading.measured import Measured
from liquidtime.data.reading.rows import find_series, is_names, note_repeats
from liquidtime.data.reading.static_features import StaticFeatures


def from_wide(
    frame: Any,
    *,
    id: str,
    time: str,
    values: Sequence[str] | None = None,
    time_unit: str | None = None,
    static: Any = (),
    categorical: Sequence[str] = (),
    missing: Sequence[float] = (),
    ids: Any = None,
    strict: bool = False,
) -> SeriesSet:
    """Read a frame with one sample per row and one channel per column; null and NaN are not observed.

    Series are in the order of their ids, channels in the order of the columns. A row in which nothing is observed
    remains a sample: its time is known.

    Args:
        frame: any data frame (pandas, polars, pyarrow, …), or the path of a CSV, Parquet or Arrow file.
        id: column of the series' ids, whole numbers or text.
        time: column of the times, numbers or time stamps.
        values: columns of the channels; all other columns if None.
        time_unit: the unit of numeric times; for time stamps the unit wanted ("s" if None).
        static: names of columns that do not change within a series, or a table with one row per series.
        categorical: names of channels or static features that are categories, not numbers.
        missing: numbers that mean "not observed", e.g. (-1,).
        ids: the series wanted, in this order; one without any row becomes an empty series.
        strict: refuse what would be repaired or dropped.

    Raises:
        TypeError: times or values of another type.
        ValueError: missing columns, NaN or infinite times, values that are not numbers, no rows.

    """
    table = as_frame("frame", frame)
    check_column(table, "id", id)
    check_column(table, "time", time)
    static_columns = list(static) if is_names(static) else []
    for name in static_columns:
        check_column(table, "static", name)
    channels = (
        [name for name in table.columns if name not in (id, time, *static_columns)] if values is None else list(values)
    )
    for name in channels:
        check_column(table, "values", name)
    if not channels:
        raise ValueError(f"`values` must name at least one column; {id!r}, {time!r} and `static` leave none")
    findings = Findings(strict)
    codes, labels, table = find_series(table, id, ids, findings)
    ticks = as_ticks(time_array(table[time], "time"), time_unit)
    refuse_unknown_times(ticks, codes, labels)
    measured = Measured(codes, labels, findings, missing)
    features = StaticFeatures(len(labels), findings)
    for name in static_columns:
        features.add_column(table[name], measured, name in categorical)
    if not is_names(static):
        features.add_table(static, id, labels, categorical, missing)
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
            column, categories[name] = measured.categories(texts(table[name]))
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
    times, origins = to_times(steps.ticks, steps.offsets)
    return SeriesSet(
        offsets=steps.offsets,
        times=times,
        values=matrix,
        channels=tuple(channels),
        ids=labels,
        static=features.matrix(),
        static_names=tuple(features.names),
        time_unit=steps.ticks.unit,
        categories=categories | features.categories,
        origins=origins,
        notes=findings.notes,
    )
