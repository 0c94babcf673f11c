"""Trackers of experiments: the interface that a training calls."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from liquidtime.training.stages import stage_path


class StopTraining(Exception):
    """Raised by a tracker's `epoch` to end the training, which leaves the model as it is."""


class Tracker:
    """Receives what a training does. Override what you need: by default nothing happens.

        class Losses(Tracker):
            def epoch(self, network, record):
                print(network, record["epoch"], record["loss"])

        with tracking(Losses()):
            model.fit(data, y)

    If `start` raises, nothing is trained. An error in the other two methods becomes a warning: the tracker is no longer
    called, and training continues. Only `StopTraining` ends it.
    """

    def start(self, name: str, settings: Mapping[str, Any]) -> None:
        """A training starts.

        Args:
            name: name of the training.
            settings: its settings by name: texts, numbers, truth values or None.
        """

    def epoch(self, network: str, record: Mapping[str, Any]) -> None:
        """A network has finished an epoch. A resumed run repeats the calls from its first epoch on.

        Args:
            network: which of the networks of this training, such as "network" or "test-1/network-2".
            record: `epoch` from 0, `step`, `loss`, `rate`, `seconds`, and `val_…` for each validation metric.
        """

    def finish(self, figures: Mapping[str, float], folder: Path | None, error: BaseException | None) -> None:
        """The training has ended.

        Args:
            figures: what the test showed, by "model/metric"; empty where nothing was tested.
            folder: where model and report are; None where nothing was written.
            error: what ended it before its time; None where it is done.
        """


class Tracking:
    """The trackers of one training, and their final figures.

    Attributes:
        figures: test figures for `Tracker.finish`.
        folder: model folder for it.
        trackers: the trackers.
    """

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}
        self.folder: Path | None = None
        self.trackers: list[Tracker] = []
        self._names: dict[str, int] = {}

    def claim(self, name: str) -> str:
        """Return a name for a network that no other network of this training has."""
        self._names[name] = self._names.get(name, 0) + 1
        return name if self._names[name] == 1 else f"{name}-{self._names[name]}"

    def tell(self, method: str, *arguments: Any) -> None:
        """Call a method of every tracker; one that fails is left out from then on, with a warning."""
        for tracker in tuple(self.trackers):
            try:
                getattr(tracker, method)(*arguments)
            except StopTraining:
                raise
            except Exception as error:  # whatever it is, the run goes on
                self.trackers.remove(tracker)
                warnings.warn(
                    f"{type(tracker).__name__}.{method} failed: {error!r}. Training continues without it.", stacklevel=2
                )


_CURRENT: ContextVar[tuple[Tracking, ...]] = ContextVar("tracking", default=())


@contextmanager
def tracking(
    *trackers: Tracker, name: str = "liquidtime", settings: Mapping[str, Any] | None = None
) -> Iterator[Tracking]:
    """Tell trackers about everything that is trained within the block, in this thread.

    Args:
        *trackers: trackers to call.
        name: name of the training.
        settings: its settings.

    Raises:
        TypeError: something that is no `Tracker`.

    """
    for tracker in trackers:
        if not isinstance(tracker, Tracker):
            raise TypeError(f"a tracker must be a liquidtime.training.Tracker; got {type(tracker).__name__}")
    block = Tracking()
    token = _CURRENT.set((*_CURRENT.get(), block))
    try:
        for tracker in trackers:
            tracker.start(name, dict(settings or {}))
            block.trackers.append(tracker)
        yield block
    except BaseException as error:
        block.tell("finish", dict(block.figures), block.folder, error)
        raise
    else:
        block.tell("finish", dict(block.figures), block.folder, None)
    finally:
        _CURRENT.reset(token)


class NetworkRecord:
    """One network, as the trackers of the current thread know it.

    Args:
        inner: name of the network in another process, inside the current stage of this one.
    """

    def __init__(self, inner: str = "") -> None:
        name = "/".join(part for part in (stage_path(), inner) if part) or "network"
        self._told = [(block, block.claim(name)) for block in _CURRENT.get()]

    def epoch(self, record: Mapping[str, Any]) -> None:
        """Send the record of an epoch to the trackers."""
        for block, name in self._told:
            block.tell("epoch", name, dict(record))
