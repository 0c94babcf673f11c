"""Training: one loop, its settings, metrics with intervals, and checkpoints."""

from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.folders import FallbackWarning
from liquidtime.files.locks import FolderInUse
from liquidtime.files.whole_files import SaveFailed
from liquidtime.training.bootstrap import ConfidenceInterval, bootstrap_interval, mean_interval
from liquidtime.training.divergence import TrainingDiverged
from liquidtime.training.log import read_log
from liquidtime.training.loop import TrainResult, train
from liquidtime.training.metrics import METRICS, Metric
from liquidtime.training.objective import (
    Loss,
    absolute_error,
    cross_entropy,
    squared_error,
)
from liquidtime.training.seeds import isolated_rng
from liquidtime.training.settings import TrainSettings
from liquidtime.training.signals import TrainingInterrupted
from liquidtime.training.tracking import Tracker, tracking

__all__ = [
    "METRICS",
    "ConfidenceInterval",
    "DamagedFolder",
    "FallbackWarning",
    "FolderInUse",
    "Loss",
    "Metric",
    "SaveFailed",
    "Tracker",
    "TrainResult",
    "TrainSettings",
    "TrainingDiverged",
    "TrainingInterrupted",
    "absolute_error",
    "bootstrap_interval",
    "cross_entropy",
    "isolated_rng",
    "mean_interval",
    "read_log",
    "squared_error",
    "tracking",
    "train",
]
