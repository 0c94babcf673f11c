"""The sample of real data in this package. The data sets of the paper are in `liquidtime.paper.datasets`."""

import importlib
from typing import Any

from liquidtime.datasets import physionet2012_sample

__all__ = ["physionet2012_sample"]


def __getattr__(name: str) -> Any:
    """Return a data set of the paper by its former name here."""
    home = importlib.import_module("liquidtime.paper.datasets")
    if name in home.__all__:
        return getattr(home, name)
    raise AttributeError(f"module 'liquidtime.datasets' has no attribute {name!r}")
