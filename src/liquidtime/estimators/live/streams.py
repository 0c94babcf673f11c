"""The live series of a model, by their ids."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor

from liquidtime.estimators.live.series import LiveSeries


class Streams:
    """Live series by id; a series is there once its first sample was taken, never before.

    Safe to use from several threads: updates of different series run beside each other, those of one series one after
    the other.
    """

    def __init__(self) -> None:
        self._series: dict[Any, LiveSeries] = {}
        self._lock = threading.Lock()  # of starting and forgetting series

    def __len__(self) -> int:
        return len(self._series)

    def __iter__(self) -> Iterator[Any]:
        return iter(tuple(self._series))

    def __contains__(self, id: Any) -> bool:
        return id in self._series

    def __getitem__(self, id: Any) -> LiveSeries:
        if id not in self._series:
            raise ValueError(f"`id` must be of a live series; {id!r} has had no sample yet. Call update first.")
        return self._series[id]

    def update(self, id: Any, t: Any, values: Any, static: Any, start: Callable[[Any], LiveSeries]) -> Tensor:
        """Take a sample of the series `id`, and start the series with it if it is new.

        Args:
            id: of the series.
            t: the time, as `LiveSeries.update` takes it.
            values: likewise.
            static: static features by name; None after the first sample.
            start: makes a new series with its static features.

        Returns:
            (M, K) the members' outputs.

        Raises:
            ValueError: a sample that does not fit, or static features of a series that has started.

        """
        series = self._series.get(id)
        if series is None:
            with self._lock:
                series = self._series.get(id)
                if series is None:
                    series = start(static)
                    outputs = series.update(t, values)
                    self._series[id] = series
                    return outputs
        if static is not None:
            raise ValueError(
                f"`static` of the live series {id!r} was set by its first sample; call reset({id!r}) first"
            )
        return series.update(t, values)

    def forget(self, id: Any = None) -> None:
        """Forget the series `id`, or all of them if None."""
        with self._lock:
            if id is None:
                self._series.clear()
            else:
                self._series.pop(id, None)

    def __getstate__(self) -> dict[str, Any]:
        return {"series": dict(self._series)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._series, self._lock = state["series"], threading.Lock()
