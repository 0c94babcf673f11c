"""Shared by all models of the experiments: settings, task, trial, batches, and training."""

from liquidtime.paper.fitting.batches import Epoch, Shuffled
from liquidtime.paper.fitting.settings import Settings
from liquidtime.paper.fitting.task import PYTORCH, TENSORFLOW, Framework, Task
from liquidtime.paper.fitting.training import Training, count_weights, fit_network, predict, train_settings
from liquidtime.paper.fitting.trial import Outcome, Trial

__all__ = [
    "PYTORCH",
    "TENSORFLOW",
    "Epoch",
    "Framework",
    "Outcome",
    "Settings",
    "Shuffled",
    "Task",
    "Training",
    "Trial",
    "count_weights",
    "fit_network",
    "predict",
    "train_settings",
]
