"""The live series of a model, by their ids."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torch import Tensor

from liquidtime._checks import check_size
from liquidtime.estimators.live.saved import load_series, save_series
from liquidtime.estimators.live.series import LiveSeries


class Streams:
    """Live series by id; a series exists once its first sample was accepted.

    Safe to use from several threads: different series are updated in parallel, and updates of one series in sequence. A
    bound on their number keeps the memory of a service bounded.

        model.streams.most = 10_000            beyond it, the series without a sample for longest is forgotten
        model.streams.save("streams");   model.streams.load("streams")

    Args:
        start: makes a new series from its static features.
        model: returns which model this is, so that the series of another are refused.
    """

    def __init__(self, start: Callable[[Any], LiveSeries], model: Callable[[], str]) -> None:
        self._start, self._model = start, model
        self._series: dict[Any, LiveSeries] = {}  # the one that has waited longest first
        self._most: int | None = None
        self._make_locks()

    def _make_locks(self) -> None:
        self._lock = threading.Lock()  # of which series there are
        self._starting = tuple(threading.Lock() for _ in range(64))  # one of them for each id that is new

    def __len__(self) -> int:
        return len(self._series)

    def __iter__(self) -> Iterator[Any]:
        with self._lock:
            return iter(tuple(self._series))

    def __contains__(self, id: Any) -> bool:
        return id in self._series

    def __getitem__(self, id: Any) -> LiveSeries:
        if id not in self._series:
            raise ValueError(f"`id` must be of a live series; {id!r} has had no sample yet. Call update first.")
        return self._series[id]

    @property
    def untouched(self) -> bool:
        """Whether there are no series and no bound, as initially."""
        return not self._series and self._most is None

    @property
    def most(self) -> int | None:
        """Largest number of live series; None for no bound. Beyond it, the least recently updated are forgotten."""
        return self._most

    @most.setter
    def most(self, number: int | None) -> None:
        self._most = None if number is None else check_size("most", number)
        with self._lock:
            self._evict()

    def update(self, id: Any, t: Any, values: Any, static: Any) -> Tensor:
        """Process a sample of the series `id`, which starts the series if it is new.

        Args:
            id: of the series.
            t: the time, as `LiveSeries.update` takes it.
            values: likewise.
            static: static features by name; None after the first sample.

        Returns:
            (M, K) the members' outputs.

        Raises:
            ValueError: a sample that does not fit, or static features of a series that has started.

        """
        if id not in self._series:
            with self._starting[hash(id) % len(self._starting)]:
                if id not in self._series:
                    series = self._start(static)
                    outputs = series.update(t, values)
                    with self._lock:
                        self._series[id] = series
                        self._evict()
                    return outputs
        if static is not None:
            raise ValueError(
                f"`static` of the live series {id!r} was set by its first sample; call reset({id!r}) first"
            )
        with self._lock:
            found = self._series.pop(id, None)
            if found is not None:
                self._series[id] = found  # at the end, behind those that wait
        if found is None:  # forgotten since
            return self.update(id, t, values, static)
        return found.update(t, values)

    def _evict(self) -> None:
        while self._most is not None and len(self._series) > self._most:
            del self._series[next(iter(self._series))]

    def forget(self, id: Any = None) -> None:
        """Forget the series `id`, or all of them if None."""
        with self._lock:
            if id is None:
                self._series.clear()
            else:
                self._series.pop(id, None)

    def save(self, path: str | Path) -> None:
        """Write the live series as a folder of JSON and safetensors, completely or not at all.

        Args:
            path: the folder; one that is there and holds streams is replaced and kept as `<name>.previous`.

        Raises:
            TypeError: an id that is neither a text nor a whole number.

        """
        with self._lock:
            series = dict(self._series)
        save_series(Path(path), series, self._model())

    def load(self, path: str | Path) -> None:
        """Replace the live series by those of a folder.

        Raises:
            FileNotFoundError: there is no such folder.
            ValueError: series of another model.
            DamagedFolder: a file that is not as it was written.

        """
        series = load_series(Path(path), self._start, self._model())
        with self._lock:
            self._series = series
            self._evict()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"start": self._start, "model": self._model, "series": dict(self._series), "most": self._most}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._start, self._model = state["start"], state["model"]
        self._series, self._most = state["series"], state["most"]
        self._make_locks()
