"""Where in a longer job a run is: which network, fold or trial is at work, and how much of the job is done."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One of several like pieces of work.

    Args:
        name: in words, such as "network 2 of 5".
        place: from 0.
        total: how many there are; 0 where nobody knows.
        started: when the first of them was, by the monotonic clock.
    """

    name: str
    place: int
    total: int
    started: float


_STAGES: ContextVar[tuple[Stage, ...]] = ContextVar("stages", default=())
_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)


@contextmanager
def stage(name: str, place: int, total: int) -> Iterator[None]:
    """Say, for progress lines within the block, which piece of a longer job is at work; stages may be nested.

    Args:
        name: in words.
        place: from 0.
        total: how many pieces of about this size there are; 0 where nobody knows.
    """
    outer = _STAGES.get()
    began = outer[0].started if outer else _BEGAN.get()
    now = time.monotonic()
    if began is None or (not outer and place == 0):
        began = now
    _BEGAN.set(began)
    token = _STAGES.set((*outer, Stage(name, place, total, began)))
    try:
        yield
    finally:
        _STAGES.reset(token)


def stage_words() -> str:
    """Return which pieces are at work, the outermost first; "" outside of any."""
    return ", ".join(one.name for one in _STAGES.get() if one.total != 1)


def stage_path() -> str:
    """Return which pieces are at work as a path, such as "test-1/network-2"; "" outside of any."""
    names = (re.sub(r"(\d+) of \d+$", r"\1", one.name) for one in _STAGES.get() if one.total != 1)
    return "/".join(name.replace(" ", "-") for name in names)


def share_done(own: float) -> float:
    """Return the share of the whole job that is done; 0 where nobody knows.

    Args:
        own: share of the innermost piece that is done, 0…1.
    """
    for one in reversed(_STAGES.get()):
        own = (one.place + own) / one.total if one.total else 0.0
    return own


def started() -> float | None:
    """Return when the whole job started, by the monotonic clock; None outside of any stage."""
    stages = _STAGES.get()
    return stages[0].started if stages else None
