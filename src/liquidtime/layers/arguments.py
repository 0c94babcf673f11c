"""A layer that knows what it was made with, so that one like it can be made again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec

P = ParamSpec("P")


def remembered(init: Callable[P, None]) -> Callable[P, None]:
    """Make a constructor keep its arguments in `constructor_arguments`, those that were given, by name."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def remembering(*args: P.args, **kwargs: P.kwargs) -> None:
        init(*args, **kwargs)
        owner: Any
        owner, *_ = args
        given = signature.bind(*args, **kwargs).arguments
        owner.constructor_arguments = {name: value for name, value in given.items() if name != "self"}

    return remembering
