"""Closed-form continuous-time and liquid neural networks for irregularly sampled time series.

The public API consists of the names in `__all__`, here and in the rooms (`lt.layers`, `lt.data`, `lt.times` …). Modules
inside a room are internal and may change without notice.

Names and rooms are imported when they are first used, so that `import liquidtime` and the command line start quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from liquidtime._version import __version__ as __version__

if TYPE_CHECKING:  # the same names for type checkers, which cannot read a table; a test holds both together
    from liquidtime import baselines as baselines
    from liquidtime import cells as cells
    from liquidtime import cli as cli
    from liquidtime import closed_form as closed_form
    from liquidtime import compat as compat
    from liquidtime import data as data
    from liquidtime import datasets as datasets
    from liquidtime import distributed as distributed
    from liquidtime import errors as errors
    from liquidtime import estimators as estimators
    from liquidtime import evaluation as evaluation
    from liquidtime import export as export
    from liquidtime import files as files
    from liquidtime import integrations as integrations
    from liquidtime import layers as layers
    from liquidtime import networks as networks
    from liquidtime import ops as ops
    from liquidtime import paper as paper
    from liquidtime import scoring as scoring
    from liquidtime import serving as serving
    from liquidtime import solvers as solvers
    from liquidtime import tasks as tasks
    from liquidtime import theory as theory
    from liquidtime import times as times
    from liquidtime import training as training
    from liquidtime import tuning as tuning
    from liquidtime import wirings as wirings
    from liquidtime.closed_form import compile_ltc as compile_ltc
    from liquidtime.data import SeriesEncoder as SeriesEncoder
    from liquidtime.data import SeriesSet as SeriesSet
    from liquidtime.data import open_set as open_set
    from liquidtime.estimators import CfCClassifier as CfCClassifier
    from liquidtime.estimators import CfCForecaster as CfCForecaster
    from liquidtime.estimators import CfCImputer as CfCImputer
    from liquidtime.estimators import CfCMultiLabelClassifier as CfCMultiLabelClassifier
    from liquidtime.estimators import CfCRegressor as CfCRegressor
    from liquidtime.estimators import StackedClassifier as StackedClassifier
    from liquidtime.estimators import StackedForecaster as StackedForecaster
    from liquidtime.estimators import StackedRegressor as StackedRegressor
    from liquidtime.estimators import StackedStepClassifier as StackedStepClassifier
    from liquidtime.estimators import load as load
    from liquidtime.evaluation import insight as insight
    from liquidtime.evaluation.insight import explain as explain
    from liquidtime.evaluation.train_and_test import train_and_test as train_and_test
    from liquidtime.layers import LTC as LTC
    from liquidtime.layers import CfC as CfC
    from liquidtime.layers import Recurrent as Recurrent
    from liquidtime.scoring import predict_frame as predict_frame
    from liquidtime.scoring import predict_shards as predict_shards
    from liquidtime.times import elapsed as elapsed
    from liquidtime.times import equidistant as equidistant
    from liquidtime.tuning import search as search

_ROOMS: dict[str, tuple[str, ...]] = {
    "baselines": (),
    "cells": (),
    "cli": (),
    "closed_form": ("compile_ltc",),
    "compat": (),
    "data": ("SeriesEncoder", "SeriesSet", "open_set"),
    "datasets": (),
    "distributed": (),
    "errors": (),
    "estimators": (
        "CfCClassifier",
        "CfCForecaster",
        "CfCImputer",
        "CfCMultiLabelClassifier",
        "CfCRegressor",
        "StackedClassifier",
        "StackedForecaster",
        "StackedRegressor",
        "StackedStepClassifier",
        "load",
    ),
    "evaluation": ("explain", "insight", "train_and_test"),
    "export": (),
    "files": (),
    "integrations": (),
    "layers": ("LTC", "CfC", "Recurrent"),
    "networks": (),
    "ops": (),
    "paper": (),
    "scoring": ("predict_frame", "predict_shards"),
    "serving": (),
    "solvers": (),
    "tasks": (),
    "theory": (),
    "times": ("elapsed", "equidistant"),
    "training": (),
    "tuning": ("search",),
    "wirings": (),
}
"""Every room, with those of its names that are also available here."""
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted([*_HOMES, *_ROOMS])


def __getattr__(name: str) -> Any:
    if name not in _ROOMS and name not in _HOMES:
        raise AttributeError(f"module 'liquidtime' has no attribute {name!r}")
    room = importlib.import_module(f"liquidtime.{_HOMES.get(name, name)}")
    value = room if name in _ROOMS else getattr(room, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
