"""Concatenate sets, even if their channels or categories differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from liquidtime.data.container.series_set import SeriesSet


def concatenate(sets: Sequence[SeriesSet]) -> SeriesSet:
    """Concatenate sets.

    The result has the channels and static features of all sets, in order of first appearance; a channel that a set does
    not have is not observed in its series. Categories are joined in the same way, and so are notes.

    Args:
        sets: at least one set, all in the same time unit, without an id that occurs twice.

    Raises:
        ValueError: units differ, an id is in two sets, or a channel is categorical in only some of the sets.

    """
    from liquidtime.data.container.series_set import SeriesSet

    sets = list(sets)
    if not sets:
        raise ValueError("`sets` must hold at least one set; got none")
    units = {data.time_unit for data in sets}
    if len(units) > 1:
        listed = ", ".join(sorted(map(str, units)))
        raise ValueError(f"`sets` must be in one time unit; got {listed}. Convert them with .in_unit(unit).")
    channels = _union([data.channels for data in sets])
    static_names = _union([data.static_names for data in sets])
    categories = _joined_categories(sets)
    ids = np.concatenate([data.ids for data in sets])
    distinct, counts = np.unique(ids, return_counts=True)
    if len(distinct) < len(ids):
        raise ValueError(
            f"`sets` must have distinct ids; {int((counts > 1).sum())} occur twice, the first is "
            f"{distinct[counts > 1][0]}. Give the series distinct names with `ids`."
        )
    starts = np.cumsum([0] + [len(data.times) for data in sets])
    offsets = [data.offsets[:-1] + start for data, start in zip(sets, starts, strict=False)]
    return SeriesSet(
        offsets=np.concatenate([*offsets, starts[-1:]]),
        times=np.concatenate([data.times for data in sets]),
        values=np.concatenate(
            [arranged(data.values, data.channels, data.categories, channels, categories) for data in sets]
        ),
        channels=channels,
        ids=ids,
        static=np.concatenate(
            [arranged(data.static, data.static_names, data.categories, static_names, categories) for data in sets]
        ),
        static_names=static_names,
        time_unit=sets[0].time_unit,
        categories=categories,
        origins=_joined_origins(sets),
        notes=tuple(note for data in sets for note in data.notes),
    )


def arranged(
    values: npt.NDArray[np.float32],
    names: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    new_names: Sequence[str],
    new_categories: Mapping[str, Sequence[str]],
) -> npt.NDArray[np.float32]:
    """Return columns in another order: new ones are NaN, categories are renumbered, and unknown ones become -1.

    Args:
        values: (N, C) columns called `names`.

    Returns:
        (N, C') columns called `new_names`.
    """
    same = tuple(names) == tuple(new_names)
    if same and all(tuple(categories[name]) == tuple(new_categories[name]) for name in names if name in categories):
        return values
    result = np.full((len(values), len(new_names)), np.nan, dtype=np.float32)
    for position, name in enumerate(new_names):
        if name not in names:
            continue
        column = values[:, list(names).index(name)]
        if name in categories:
            positions = {label: position for position, label in enumerate(new_categories[name])}
            table = np.array([positions.get(label, -1) for label in categories[name]] + [np.nan], dtype=np.float32)
            column = table[np.where(np.isnan(column), len(table) - 1, column).astype(np.int64)]
        result[:, position] = column
    return result


def _union(names: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in names for name in group))


def _joined_categories(sets: Sequence[SeriesSet]) -> dict[str, tuple[str, ...]]:
    joined: dict[str, tuple[str, ...]] = {}
    for data in sets:
        for name, labels in data.categories.items():
            joined[name] = _union([joined.get(name, ()), labels])
    for name in joined:
        for data in sets:
            if name in (*data.channels, *data.static_names) and name not in data.categories:
                raise ValueError(
                    f"`sets` must agree on {name!r}: it is categorical in some of them and numeric in others"
                )
    return joined


def _joined_origins(sets: Sequence[SeriesSet]) -> npt.NDArray[Any] | None:
    kinds = {None if data.origins is None else data.origins.dtype.kind for data in sets if len(data)}
    if len(kinds) > 1:
        raise ValueError("`sets` must all have time stamps as times, or all have numbers; got both")
    origins = [data.origins for data in sets if data.origins is not None]
    return np.concatenate(origins) if origins and kinds != {None} else None
