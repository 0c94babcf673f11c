"""Closed-form continuous-time and liquid neural networks for irregularly sampled time series.

Names are imported when they are first used, so that `import liquidtime` and the command line start at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from liquidtime import cells, closed_form, compat, data, estimators, layers, solvers, wirings
    from liquidtime.closed_form import compile_ltc
    from liquidtime.data import SeriesEncoder, SeriesSet
    from liquidtime.estimators import CfCClassifier, CfCForecaster, CfCRegressor, load
    from liquidtime.evaluation import train_and_test
    from liquidtime.layers import LTC, CfC, Recurrent
    from liquidtime.times import elapsed, equidistant

_HOMES = {
    "CfC": "layers",
    "CfCClassifier": "estimators",
    "CfCForecaster": "estimators",
    "CfCRegressor": "estimators",
    "LTC": "layers",
    "Recurrent": "layers",
    "SeriesEncoder": "data",
    "SeriesSet": "data",
    "compile_ltc": "closed_form",
    "elapsed": "times",
    "equidistant": "times",
    "load": "estimators",
    "train_and_test": "evaluation",
}
_MODULES = ("cells", "closed_form", "compat", "data", "estimators", "layers", "solvers", "wirings")

__all__ = [
    "LTC",
    "CfC",
    "CfCClassifier",
    "CfCForecaster",
    "CfCRegressor",
    "Recurrent",
    "SeriesEncoder",
    "SeriesSet",
    "cells",
    "closed_form",
    "compat",
    "compile_ltc",
    "data",
    "elapsed",
    "equidistant",
    "estimators",
    "layers",
    "load",
    "solvers",
    "train_and_test",
    "wirings",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"liquidtime.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"liquidtime.{name}")
    else:
        raise AttributeError(f"module 'liquidtime' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
