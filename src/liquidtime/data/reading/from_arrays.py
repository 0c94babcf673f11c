"""Read arrays: (B, T, C) with times, (B, T) for one channel, or a list of (times, values)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Findings, SeriesSet, as_nanoseconds, as_ticks, to_times
from liquidtime.data.reading.assemble import Repeats, find_steps, merge_column, refuse_unknown_times
from liquidtime.data.reading.containers import as_container
from liquidtime.data.reading.measured import Measured
from liquidtime.data.reading.rows import note_repeats
from liquidtime.errors import wrong_shape
from liquidtime.times import _as_array


def from_arrays(
    values: Any,
    times: Any = None,
    *,
    axes: str | None = None,
    lengths: Any = None,
    channels: Sequence[str] | None = None,
    ids: Any = None,
    static: Any = None,
    static_names: Sequence[str] | None = None,
    time_unit: str | None = None,
    strict: bool = False,
) -> SeriesSet:
    """Make a set of series from arrays; NaN means "not observed".

    Args:
        values: (B, T, C), or (B, T) for one channel, or a list of B pairs (times (T_i,), values (T_i, C) or (T_i,)).
            Also the containers of other libraries: a list of B arrays (T_i, C) or (C, T_i), a dictionary of them by id,
            a list of pandas frames with the times in their index, or a frame whose cells are series.
        times: (T,) for all series or (B, T), numbers or datetime64; 0…T - 1 if None. Not with pairs.
        axes: order of series, time and channel in arrays: "STC", or "SCT" as in aeon and sktime. None means
            "STC", but is refused if that gives more channels than times and nothing else confirms it.
        lengths: (B,) number of samples in each series; what follows is padding. T if None. Not with pairs.
        channels: C names; "0"…"C - 1" if None.
        ids: (B,) distinct ids; 0…B - 1 if None.
        static: (B, F) static features.
        static_names: F names; "static 0"… if None.
        time_unit: unit of numeric times; for time stamps the unit to convert to ("s" if None).
        strict: refuse data that would have to be repaired.

    Raises:
        TypeError: times or values have a wrong type.
        ValueError: shapes do not fit, times are NaN or infinite, values are infinite, or there are no series.

    """
    pairs = isinstance(values, list | tuple) and len(values) and all(_is_pair(item) for item in values)
    container = None if pairs else as_container(values, axes)
    if pairs or container is not None:
        if times is not None or lengths is not None:
            raise ValueError("`times` and `lengths` must be None if `values` is a list of (times, values) or arrays")
        flat_times, matrix, counts = _from_pairs(values if container is None else container.pairs)
    else:
        told = times is not None or lengths is not None or channels is not None
        flat_times, matrix, counts = _from_block(_ordered(values, axes, told), times, lengths)
    if container is not None:
        ids = container.ids if ids is None else ids
        channels = container.channels if channels is None else channels
    B, C = len(counts), matrix.shape[1]
    if B == 0 or C == 0:
        raise ValueError(f"`values` must hold at least one series and one channel; got {B} and {C}")
    labels = np.arange(B) if ids is None else np.asarray(ids)
    if labels.shape != (B,):
        raise wrong_shape("ids", "(B,)", [B], labels.shape, "One id per series.")
    names = [str(number) for number in range(C)] if channels is None else [str(name) for name in channels]
    if len(names) != C:
        raise ValueError(f"`channels` must have C = {C} names; got {len(names)}")
    features = np.empty((B, 0)) if static is None else np.asarray(static, dtype=np.float32)
    if features.ndim != 2 or len(features) != B:
        raise wrong_shape("static", "(B, F)", [B, "F"], features.shape, "One row per series.")
    if static_names is None:
        static_names = [f"static {number}" for number in range(features.shape[1])]

    findings = Findings(strict)
    codes = np.repeat(np.arange(B, dtype=np.int32), counts)
    ticks = as_ticks(flat_times, time_unit)
    refuse_unknown_times(ticks, codes, labels)
    steps = find_steps(codes, ticks, labels, findings)
    measured = Measured(codes, labels, findings)
    result = np.empty((len(steps.ticks.values), C), dtype=np.float32)
    repeat_rows: list[int] = []
    repeat_names: list[str] = []
    count = 0
    for position, name in enumerate(names):
        column = steps.sort(measured.narrow(name, matrix[:, position]))
        if steps.merged:
            column, repeats = merge_column(steps, column, False)
            count += repeats.count
            repeat_rows += [int(row) for row in repeats.rows[:3]]
            repeat_names += [name] * min(3, repeats.count)
        result[:, position] = column
    note_repeats(
        findings, steps, Repeats(count, np.array(repeat_rows, dtype=np.int64)), repeat_names, labels, matrix.size
    )
    stored, origins = to_times(steps.ticks, steps.offsets)
    return SeriesSet(
        offsets=steps.offsets,
        times=stored,
        values=result,
        channels=tuple(names),
        ids=labels,
        static=features.astype(np.float32),
        static_names=tuple(static_names),
        time_unit=steps.ticks.unit,
        origins=origins,
        notes=findings.notes,
    )


def _ordered(values: Any, axes: str | None, told: bool) -> npt.NDArray[Any]:
    """Return an array as (B, T, C) or (B, T); refuse one that looks like (B, C, T) if its order is not confirmed."""
    block = _numbers("values", values)
    if block.ndim != 3:
        return block
    S, first, second = block.shape
    if axes is None and not told and first < second:
        raise ValueError(
            f"`values` of shape {block.shape} could be {S} series of {first} times with {second} channels "
            f'(axes="STC"), or of {first} channels at {second} times, as in aeon and sktime (axes="SCT"); say which '
            "with `axes` of SeriesSet.from_arrays"
        )
    return block.transpose(0, 2, 1) if axes == "SCT" else block


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and np.ndim(item[0]) > 0


def _numbers(argument: str, array_like: Any) -> npt.NDArray[Any]:
    array = np.asarray(array_like.detach().cpu().numpy() if hasattr(array_like, "detach") else array_like)
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"`{argument}` must be numbers; got {array.dtype}") from None
    return array


def _from_pairs(pairs: Sequence[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return (N,) times, (N, C) values and (B,) lengths."""
    all_times, all_values = [], []
    for row, (times, values) in enumerate(pairs):
        t, v = _as_array(times), _numbers("values", values)
        v = v[:, None] if v.ndim == 1 else v
        if t.ndim != 1 or v.ndim != 2 or len(t) != len(v):
            raise ValueError(
                f"`values` must be pairs of times (T,) and values (T, C) or (T,); series {row} has {t.shape} and "
                f"{v.shape}"
            )
        all_times.append(t)
        all_values.append(v)
    widths = {v.shape[1] for v in all_values if len(v)} or {all_values[0].shape[1]}
    if len(widths) > 1:
        raise ValueError(f"`values` must have one number of channels; got {sorted(widths)}")
    filled = [t for t in all_times if len(t)] or all_times[:1]
    kinds = {t.dtype.kind == "M" for t in filled}
    if len(kinds) > 1:
        raise TypeError("`values` must have time stamps in all series, or numbers in all; got both")
    if True in kinds:  # each may have its own resolution
        filled = [as_nanoseconds(t) for t in filled]
    counts = np.array([len(t) for t in all_times], dtype=np.int64)
    full = [v for v in all_values if len(v)] or [np.empty((0, widths.pop()))]
    return np.concatenate(filled), np.concatenate(full), counts


def _from_block(
    block: npt.NDArray[Any], times: Any, lengths: Any
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return (N,) times, (N, C) values and (B,) lengths."""
    block = block[:, :, None] if block.ndim == 2 else block
    if block.ndim != 3:
        raise wrong_shape(
            "values", "(B, T, C) or (B, T)", ["B", "T", "C"], block.shape, "Or a list of (times, values)."
        )
    B, T = block.shape[:2]
    stamps = np.arange(T) if times is None else _as_array(times)
    if stamps.shape not in ((T,), (B, T)):
        raise wrong_shape("times", "(T,) or (B, T)", [B, T], stamps.shape)
    counts = np.full(B, T, dtype=np.int64) if lengths is None else np.asarray(lengths)
    if counts.shape != (B,) or counts.dtype.kind not in "iu" or (counts < 0).any() or (counts > T).any():
        raise ValueError(f"`lengths` must be (B,) = ({B},) whole numbers in 0…T = 0…{T}; got {counts}")
    inside = np.arange(T) < counts[:, None]
    return np.broadcast_to(stamps, (B, T))[inside], block[inside], counts.astype(np.int64)
