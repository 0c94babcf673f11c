"""Series whose samples arrive one at a time, and the evolution of predictions over whole series."""

from liquidtime.estimators.live.evolution import outputs_at_samples, outputs_at_steps
from liquidtime.estimators.live.saved import fingerprint_of
from liquidtime.estimators.live.series import LiveSeries, Memory
from liquidtime.estimators.live.step import ScaleState, ScaleStep
from liquidtime.estimators.live.streams import Streams

__all__ = [
    "LiveSeries",
    "Memory",
    "ScaleState",
    "ScaleStep",
    "Streams",
    "fingerprint_of",
    "outputs_at_samples",
    "outputs_at_steps",
]
