"""Stages of a longer job: which network, fold or trial is being trained, and how much of the job is done."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One of several similar pieces of work.

    Args:
        name: name in words, such as "network 2 of 5".
        index: number of the piece, from 0.
        total: number of pieces; 0 if unknown.
        started: when the first of them started, by the monotonic clock.
    """

    name: str
    index: int
    total: int
    started: float


_STAGES: ContextVar[tuple[Stage, ...]] = ContextVar("stages", default=())
_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)


@contextmanager
def stage(name: str, index: int, total: int) -> Iterator[None]:
    """Name the current piece of a longer job, for progress lines within the block; stages may be nested.

    Args:
        name: name in words.
        index: number of the piece, from 0.
        total: number of pieces of about this size; 0 if unknown.
    """
    outer = _STAGES.get()
    began = outer[0].started if outer else _BEGAN.get()
    now = time.monotonic()
    if began is None or (not outer and index == 0):
        began = now
    _BEGAN.set(began)
    token = _STAGES.set((*outer, Stage(name, index, total, began)))
    try:
        yield
    finally:
        _STAGES.reset(token)


def stage_words() -> str:
    """Return the names of the current stages, the outermost first; "" outside of any."""
    return ", ".join(one.name for one in _STAGES.get() if one.total != 1)


def stage_path() -> str:
    """Return the current stages as a path, such as "test-1/network-2"; "" outside of any."""
    names = (re.sub(r"(\d+) of \d+$", r"\1", one.name) for one in _STAGES.get() if one.total != 1)
    return "/".join(name.replace(" ", "-") for name in names)


def share_done(own: float) -> float:
    """Return the share of the whole job that is done; 0 if unknown.

    Args:
        own: share of the innermost piece that is done, 0…1.
    """
    for one in reversed(_STAGES.get()):
        own = (one.index + own) / one.total if one.total else 0.0
    return own


def started() -> float | None:
    """Return when the whole job started, by the monotonic clock; None outside of any stage."""
    stages = _STAGES.get()
    return stages[0].started if stages else None
