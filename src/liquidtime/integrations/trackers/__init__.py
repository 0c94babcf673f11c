"""Trackers of experiments, all with the interface of `liquidtime.training.Tracker`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from liquidtime.errors import nearest
from liquidtime.integrations.trackers.mlflow import MLflow
from liquidtime.integrations.trackers.tensorboard import TensorBoard
from liquidtime.integrations.trackers.wandb import WeightsAndBiases
from liquidtime.training import Tracker

TRACKERS: dict[str, Callable[..., Tracker]] = {
    "tensorboard": TensorBoard,
    "mlflow": MLflow,
    "wandb": WeightsAndBiases,
}
"""Every tracker by its name on the command line; the first argument of each is its destination."""


def find_trackers(track: Any, argument: str = "`track`") -> list[Tracker]:
    """Return trackers.

    Args:
        track: a `Tracker`; a name such as "mlflow", or a name with a destination, such as "mlflow=sqlite:///runs.db",
            "tensorboard=logs" or "wandb=project"; a list of several; or None.
        argument: name of the argument for the caller.

    Raises:
        ValueError: an unknown name.
        TypeError: neither a string nor a tracker.

    """
    if track is None:
        return []
    each = list(track) if isinstance(track, Sequence) and not isinstance(track, str) else [track]
    return [_tracker(one, argument) for one in each]


def _tracker(one: Any, argument: str) -> Tracker:
    if isinstance(one, Tracker):
        return one
    if not isinstance(one, str):
        raise TypeError(f"{argument} must be names or trackers; got {type(one).__name__}")
    name, equals, place = one.partition("=")
    if name not in TRACKERS:
        raise ValueError(f"{argument} must be one of {', '.join(TRACKERS)}; got {name!r}{nearest(name, TRACKERS)}")
    if equals and not place:
        raise ValueError(f"{argument} {one!r} has no destination; leave out the = sign, or add a destination after it")
    return TRACKERS[name](place) if place else TRACKERS[name]()


__all__ = ["TRACKERS", "MLflow", "TensorBoard", "WeightsAndBiases", "find_trackers"]
