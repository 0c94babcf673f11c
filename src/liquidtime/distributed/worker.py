"""The code that runs inside a process that does pieces of work for another one."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from liquidtime.training.signals import TrainingInterrupted
from liquidtime.training.stages import stage
from liquidtime.training.tracking import Tracker, tracking

STOP = "stop"
"""A file with this name in the folder that workers watch asks them to stop."""
BEGUN = "begun-"
"""Files with these names in that folder record which pieces were started."""
_EVERY = 0.2
"""Seconds between two checks of the folder and the parent."""
_at_work = threading.Event()


@dataclass
class Outcome:
    """The result of one piece of work.

    Args:
        place: position of the piece.
        value: return value.
        error: error that it raised instead, or None.
        stopped: whether it was asked to stop, and stopped.
        step: number of optimiser steps at that time.
        saved: whether they are in a checkpoint.
        warning_records: warnings, to be repeated by the calling process.
        records: records for trackers: networks and their epochs.
    """

    place: int
    value: Any = None
    error: Exception | None = None
    stopped: bool = False
    step: int = 0
    saved: bool = True
    warning_records: list[tuple[str, type[Warning]]] = field(default_factory=list)
    records: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


class _Collected(Tracker):
    def __init__(self, records: list[tuple[str, dict[str, Any]]]) -> None:
        self._told = records

    def epoch(self, network: str, record: Mapping[str, Any]) -> None:
        """Store the record for the calling process."""
        self._told.append((network, dict(record)))


def in_worker() -> bool:
    """Return whether this process does pieces of work for another one."""
    return _at_work.is_set()


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread inside the block, so that results do not depend on the number of cores."""
    before = torch.get_num_threads()
    with threadpool_limits(1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def done(
    work: Callable[[Any, bool], Any], place: int, item: Any, name: str, again: bool, folder: str, parent: int
) -> Outcome:
    """Do one piece of work in a worker.

    Args:
        work: the function.
        place: position of the piece.
        item: argument of the function.
        name: name of the piece.
        again: whether an earlier worker died over it.
        folder: folder in which a file `STOP` asks to stop.
        parent: calling process; if it is gone, the worker ends.
    """
    _watch(Path(folder), parent)
    (Path(folder) / f"{BEGUN}{place}").touch()
    return outcome_of(work, place, item, name, again)


def outcome_of(work: Callable[[Any, bool], Any], place: int, item: Any, name: str, again: bool) -> Outcome:
    """Do one piece of work with one thread and return the result; arguments as in `done`."""
    _at_work.set()
    outcome = Outcome(place)
    collected = tracking(_Collected(outcome.records))
    with warnings.catch_warnings(record=True) as caught, one_thread(), collected, stage(name, place, 0):
        warnings.simplefilter("always")
        try:
            outcome.value = work(item, again)
        except TrainingInterrupted as stopped:
            outcome.stopped, outcome.step, outcome.saved = True, stopped.step, stopped.saved
        except KeyboardInterrupt:
            outcome.stopped, outcome.saved = True, False
        except Exception as error:
            outcome.error = _portable(error)
    outcome.warning_records = [(str(one.message), one.category) for one in caught if _is_portable(one.category)]
    return outcome


def _watch(folder: Path, parent: int) -> None:
    """Stop when asked to, and end when the calling process is gone; only the last folder is watched."""
    global _folder
    _folder = folder
    if not _at_work.is_set():
        _at_work.set()
        threading.Thread(target=_look, args=(parent,), daemon=True).start()


_folder = Path()


def _look(parent: int) -> None:
    asked: Path | None = None
    while True:
        if os.getppid() != parent:
            os._exit(1)
        if _folder != asked and (_folder / STOP).exists():
            asked = _folder
            signal.raise_signal(signal.SIGTERM)  # handled by the main thread, like a signal from outside
        time.sleep(_EVERY)


def _portable(error: Exception) -> Exception:
    """Return an error that can be sent to another process, with its traceback as a note."""
    import traceback

    error.add_note("in a worker process:\n" + "".join(traceback.format_exception(error)))
    if _is_portable(error):
        return error
    plain = RuntimeError(f"{type(error).__name__}: {error}")
    plain.add_note(error.__notes__[-1])
    return plain


def _is_portable(value: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:
        return False
    return True
