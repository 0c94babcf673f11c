"""A set of series whose channels scikit-learn can permute like the columns of a data frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.evaluation.insight.donors import with_channel, with_static


class ChannelTable(SeriesSet):
    """S series as a table of S rows and one column per channel and static feature; models take it as a `SeriesSet`.

        permutation_importance(model, lt.insight.by_channel(data), y)

    It has the part of a data frame's interface that `sklearn.inspection.permutation_importance` uses. Permuting a
    column gives every series the channel of another one: see `liquidtime.evaluation.insight.donors`.
    """

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(S, C + F)."""
        return len(self), len(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The channels, then the static features."""
        return (*self.channels, *self.static_names)

    @property
    def index(self) -> npt.NDArray[np.int64]:
        """Positions of the series."""
        return np.arange(len(self))

    @property
    def iloc(self) -> _Places:
        """Columns by position, as `iloc[rows, column]`."""
        return _Places(self)

    def copy(self) -> ChannelTable:
        """Return a table whose columns can be set without changing this one."""
        return by_channel(self)

    def take(self, indices: Any, axis: int = 0) -> ChannelTable:
        """Return the series at these positions."""
        return by_channel(super().take(indices, axis))

    def __setitem__(self, name: str, column: _Borrowed) -> None:
        place = self.columns.index(name)
        C = len(self.channels)
        source = column.source
        if place < C:
            changed = with_channel(source, place, column.rows)
            values = self.values.copy()
            values[:, place] = changed.values[:, place]
            object.__setattr__(self, "values", values)
        else:
            static = self.static.copy()
            static[:, place - C] = with_static(source, place - C, column.rows).static[:, place - C]
            object.__setattr__(self, "static", static)


class _Borrowed:
    """One column of a table, taken from other rows."""

    def __init__(self, source: SeriesSet, rows: npt.NDArray[np.int64]) -> None:
        self.source, self.rows, self.index = source, rows, rows


class _Places:
    def __init__(self, table: ChannelTable) -> None:
        self._table = table

    def __getitem__(self, key: Any) -> _Borrowed:
        if not isinstance(key, tuple) or len(key) != 2:
            raise TypeError("`iloc` of a table of channels takes rows and one column")
        source = self._table.replace_unchecked()  # in its present state
        return _Borrowed(source, np.asarray(key[0], dtype=np.int64))


def by_channel(data: SeriesSet) -> ChannelTable:
    """Return series as a table that `sklearn.inspection.permutation_importance` takes.

    Args:
        data: the series.
    """
    table = object.__new__(ChannelTable)
    table.__dict__.update(data.__dict__)
    return table
