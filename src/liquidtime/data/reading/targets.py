"""Match labels with series by id, and check them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars

from liquidtime._checks import check_choice
from liquidtime.data.container import Findings, Note, SeriesSet, first_words
from liquidtime.data.reading.columns import check_column, is_number, numbers, texts
from liquidtime.data.reading.missing_words import known_labels
from liquidtime.data.reading.opening import open_table
from liquidtime.data.reading.options import Reading, as_missing
from liquidtime.data.reading.rows import find_series
from liquidtime.data.reading.static_features import positions
from liquidtime.errors import wrong_shape


def align_labels(
    data: SeriesSet,
    labels: Any,
    *,
    id: str,
    target: str,
    keep_empty: bool = False,
    strict: bool = False,
    **reading: Any,
) -> tuple[SeriesSet, npt.NDArray[Any]]:
    """Match labels with series by id, in the order of the set.

    Series without a label and labels without a series are left out, which the `notes` of the set record.

    Args:
        data: the series.
        labels: a table with one row per series: any data frame, or the path of a file.
        id: its column of ids.
        target: column of labels, numbers or text; null means no label.
        keep_empty: keep labels without a series, as series without samples, after the others.
        strict: refuse data if something would be left out.
        **reading: options for reading a file; see `Reading`.

    Returns:
        The set and (S,) the labels of its series.

    Raises:
        ValueError: a column is missing, an id has two labels, or no id is in both tables.

    """
    how = Reading.of(reading)
    opened = open_table("labels", labels, how)
    table = opened.frame
    check_column(table, "id", id)
    check_column(table, "target", target)
    findings = Findings(strict)
    codes, names, table = find_series(table, id, None, findings)
    _refuse_repeated("labels", codes, names)
    column = table[target]
    labels_by_row = numbers(column) if is_number(column) else np.array(_names(texts(column), how), dtype=object)
    y = np.empty_like(labels_by_row)
    y[codes] = labels_by_row  # in the order of the names
    labelled = np.array([item is not None and item == item for item in y], dtype=bool)
    names, y = names[labelled], y[labelled]
    if y.dtype.kind == "O":
        y = y.astype(np.str_)
    elif y.dtype.kind == "f" and column.dtype.is_integer():
        y = y.astype(np.int64)

    rows = positions(data.ids, names)  # (S,) the label of each series
    if not (rows >= 0).any():
        raise ValueError(
            f"`labels` must share ids with the series; none of {len(names)} does. The ids of the series begin with "
            f"{', '.join(map(str, data.ids[:3]))}; those of the labels with {', '.join(map(str, names[:3]))}."
        )
    without = first_words(f"series {name}" for name in data.ids[rows < 0])
    findings.add(Note("dropped", "series without a label", int((rows < 0).sum()), len(data), without))
    alone = np.setdiff1d(np.arange(len(names)), rows)
    if not keep_empty:
        first = first_words(f"id {name}" for name in names[alone])
        findings.add(Note("dropped", "labels without a series", len(alone), len(names), first))
    labelled_set = data[rows >= 0].with_notes(data.notes)
    labels_in_order = y[rows[rows >= 0]]
    if keep_empty and len(alone):
        labelled_set = labelled_set.with_empty(names[alone])
        labels_in_order = np.concatenate([labels_in_order, y[alone]])
        first = first_words(f"id {name}" for name in names[alone])
        findings.add(Note("kept", "labels have no sample; their series are empty", len(alone), len(names), first))
    return labelled_set.with_notes(findings.notes), labels_in_order


def align_outcomes(
    data: SeriesSet,
    table: Any,
    *,
    id: str,
    columns: Sequence[str],
    missing: Sequence[float | str] = (),
    argument: str = "auxiliary",
) -> npt.NDArray[np.float64]:
    """Return (S, K) auxiliary targets of the series, in their order; NaN where the table has none.

    Args:
        data: the series.
        table: table with one row per series: any data frame, or the path of a file.
        id: its column of ids.
        columns: K columns of numbers.
        missing: numbers that mean "not known"; words are refused in any case.
        argument: name of the columns in errors.

    Raises:
        ValueError: a column is missing or is text, or an id has two rows.

    """
    frame = open_table("table", table).frame
    check_column(frame, "id", id)
    codes, names, frame = find_series(frame, id, None, Findings(strict=False))
    _refuse_repeated("table", codes, names)
    rows = positions(data.ids, names)  # (S,)
    matrix = np.full((len(data), len(columns)), np.nan)
    for k, name in enumerate(columns):
        column = frame[check_column(frame, argument, name)]
        if not is_number(column):
            raise ValueError(
                f"`{argument}` {name!r} must be numbers; got {column.dtype}. Turn categories into 0 and 1."
            )
        values = np.empty(len(names))
        values[codes] = numbers(column)
        unknown = [number for number in as_missing(missing) if isinstance(number, float)]
        values[np.isin(values, np.asarray(unknown, dtype=np.float64))] = np.nan
        matrix[rows >= 0, k] = values[rows[rows >= 0]]
    return matrix


def _names(words: Sequence[str | None], how: Reading) -> list[str | None]:
    """Return labels; None for words that mean "no label"."""
    labels: list[str | None] = known_labels(polars.Series(values=words, dtype=polars.String), how.missing).to_list()
    return labels


def _refuse_repeated(argument: str, codes: npt.NDArray[Any], names: npt.NDArray[Any]) -> None:
    if len(codes) > len(names):
        twice = names[np.bincount(codes) > 1]
        raise ValueError(
            f"`{argument}` must have one row per series; {len(twice)} ids have several, the first is {twice[0]}. "
            "Keep one row of each."
        )


def check_target(y: Any, S: int, task: str = "classify") -> npt.NDArray[Any]:
    """Return the target as an array; refuse an invalid one.

    Args:
        y: (S,) one label per series; for "regress" also (S, K).
        S: number of series.
        task: "classify" or "regress".

    Raises:
        ValueError: the length is wrong, targets are NaN or infinite, or there is only one class.

    """
    check_choice("task", task, _CHECKS)
    return _CHECKS[task](y, S)


def check_classes(y: Any, S: int) -> npt.NDArray[Any]:
    """Return (S,) classes, at least two different ones; refuse others as `check_target` does."""
    target = _known(y, S, 1)
    classes = np.unique(target)
    if len(classes) < 2:
        raise ValueError(
            f"`y` must have at least two classes; all {S} labels are {classes[0]!r}" if S else "`y` is empty"
        )
    return target


def check_values(y: Any, S: int) -> npt.NDArray[np.float64]:
    """Return (S,) or (S, K) numbers; refuse other targets as `check_target` does."""
    target = _known(y, S, 2)
    if target.dtype.kind not in "fiub":
        raise TypeError(f"`y` must be numbers for regression; got {target.dtype}")
    return target.astype(np.float64)


_CHECKS = {"classify": check_classes, "regress": check_values}


def _known(y: Any, S: int, axes: int) -> npt.NDArray[Any]:
    """Return a target with S rows and at most `axes` axes; refuse missing values."""
    target = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if target.ndim == 0 or len(target) != S or target.ndim > axes:
        raise wrong_shape("y", "(S,)", [S], target.shape, "One label per series.")
    if target.dtype.kind == "f":
        bad = ~np.isfinite(target)
    elif target.dtype.kind == "O":
        bad = np.array([[item is None or item != item for item in np.ravel(row)] for row in target], dtype=bool)
    else:
        bad = np.zeros(len(target), dtype=bool)
    bad = bad.reshape(len(target), -1).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"`y` must have a value for every series; {int(bad.sum())} of {S} are NaN, infinite or None. The first is "
            f"{target[row]} at position {row}. Leave those series out."
        )
    return target
