"""Layers that keep their constructor arguments, so that an identical layer can be constructed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec

P = ParamSpec("P")


def remembered(init: Callable[P, None]) -> Callable[P, None]:
    """Make a constructor keep the arguments passed to it, by name, in `constructor_arguments`."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def remembering(*args: P.args, **kwargs: P.kwargs) -> None:
        init(*args, **kwargs)
        owner: Any
        owner, *_ = args
        arguments = signature.bind(*args, **kwargs).arguments
        owner.constructor_arguments = {name: value for name, value in arguments.items() if name != "self"}

    return remembering
