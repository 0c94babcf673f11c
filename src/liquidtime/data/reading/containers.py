"""Containers of series in other libraries: lists of arrays or frames, dictionaries, nested frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_choice
from liquidtime.times import _as_array

AXES = ("STC", "SCT")
"""Orders of series, time and channel in an array: the usual one, and that of aeon and sktime."""


@dataclass(frozen=True, eq=False)
class Container:
    """Series as pairs of times and values.

    Args:
        pairs: (times (T_i,), values (T_i, C)) for each series.
        ids: (S,) ids of the series; None if the container has none.
        channels: C names; None if the container has none.
    """

    pairs: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]
    ids: list[Any] | None = None
    channels: list[str] | None = None


def as_container(values: Any, axes: str | None) -> Container | None:
    """Return the series in a container of another library; None if it is an array or a list of pairs.

    Args:
        values: a list of 2-D arrays or frames, a dictionary of them by id, or a frame whose cells are series.
        axes: order of time and channel in the arrays; None to derive it from lengths that differ.

    Raises:
        ValueError: the axes of arrays cannot be distinguished, or frames have different columns.

    """
    if axes is not None:
        check_choice("axes", axes, AXES)
    if nw.dependencies.is_pandas_dataframe(values):
        return _from_nested(values)
    if isinstance(values, Mapping):
        items = list(values.values())
        inner = as_container(items, axes) if items else None
        if inner is None:
            pairs = [(np.arange(len(item)), _matrix(item)) for item in items]
            return Container(pairs, list(values))
        return Container(inner.pairs, list(values), inner.channels)
    if not isinstance(values, list | tuple) or not len(values):
        return None
    if all(nw.dependencies.is_pandas_dataframe(item) for item in values):
        return _from_frames(values)
    if any(isinstance(item, tuple | list) or not hasattr(item, "ndim") for item in values):
        return None
    if all(item.ndim == 1 for item in values) and len({len(item) for item in values}) > 1:
        return Container([(np.arange(len(item)), _matrix(item)) for item in values])
    if all(item.ndim == 2 for item in values):
        return _from_arrays(values, axes)
    return None


def _matrix(item: Any) -> npt.NDArray[Any]:
    array = np.asarray(item.detach().cpu().numpy() if hasattr(item, "detach") else item)
    return array[:, None] if array.ndim == 1 else array


def _from_arrays(values: Sequence[Any], axes: str | None) -> Container | None:
    """Read 2-D arrays; the axis along which all have the same size is that of the channels."""
    first, second = ({item.shape[axis] for item in values} for axis in (0, 1))
    if len(first) == 1 and len(second) == 1:
        return None  # one array, whatever its axes are
    if axes is None:
        if len(first) > 1 and len(second) > 1:
            raise ValueError(
                f"`values` must have one number of channels in all series; got arrays of {_shapes(values)}, which have "
                "no size in common"
            )
        axes = "STC" if len(second) == 1 else "SCT"
    channels = second if axes == "STC" else first
    if len(channels) > 1:
        raise ValueError(
            f"`values` must have one number of channels in all series; with `axes` {axes!r} they have "
            f"{sorted(channels)}"
        )
    arrays = [_matrix(item) if axes == "STC" else _matrix(item).T for item in values]
    return Container([(np.arange(len(array)), array) for array in arrays])


def _shapes(values: Sequence[Any]) -> str:
    return ", ".join(str(tuple(item.shape)) for item in values[:3]) + (", …" if len(values) > 3 else "")


def _from_frames(frames: Sequence[Any]) -> Container:
    """Read frames with the times in their index and one column per channel."""
    names = [str(name) for name in frames[0].columns]
    for place, frame in enumerate(frames):
        if [str(name) for name in frame.columns] != names:
            raise ValueError(f"`values` must have the same columns in every frame; those of frame {place} differ")
    return Container([(_index(frame), frame.to_numpy()) for frame in frames], None, names)


def _index(frame: Any) -> npt.NDArray[Any]:
    index = frame.index
    return _as_array(index.to_timestamp() if hasattr(index, "to_timestamp") else index)


def _from_nested(frame: Any) -> Container:
    """Read a frame with one row per series, in which each cell is the series of one channel."""
    if not len(frame) or not all(getattr(cell, "ndim", 0) == 1 for cell in frame.iloc[0]):
        raise TypeError(
            "`values` must be arrays, or a frame whose cells are series; for a table use SeriesSet.from_wide or "
            "SeriesSet.from_long"
        )
    pairs = []
    for place, cells in enumerate(frame.itertuples(index=False, name=None)):
        columns = [np.asarray(cell) for cell in cells]
        if len({len(column) for column in columns}) > 1:
            raise ValueError(f"`values` must have channels of one length within a series; those of row {place} differ")
        times = _as_array(cells[0].index) if hasattr(cells[0], "index") else np.arange(len(columns[0]))
        pairs.append((times, np.stack(columns, axis=1)))
    return Container(pairs, frame.index.tolist(), [str(name) for name in frame.columns])
