"""The paper's experiments: the only room that knows both data sets and models.

Its sub-rooms, each of which imports only from those after it: `pages` (tables and figures), `runner` (seeds and result
files), `experiments` (declarations), `models`, `fitting` (shared by the models), `datasets`.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["datasets", "experiments", "fitting", "models", "pages", "runner"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'liquidtime.paper' has no attribute {name!r}")
    return importlib.import_module(f"liquidtime.paper.{name}")
