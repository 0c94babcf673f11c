"""Treat SIGTERM and Ctrl-C as a request to stop after the current step, not in the middle of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType


@dataclass
class StopRequest:
    """The signal that has asked the run to stop, if any."""

    signal: signal.Signals | None = None


class TrainingInterrupted(SystemExit):
    """The run was asked to stop and did so after a step; if not caught, the process exits with code 128 + signal.

    Args:
        number: the signal.
        step: number of optimiser steps of the run.
        folder: folder of the run.
        saved: whether the last step is in the checkpoint.
    """

    def __init__(self, number: signal.Signals, step: int, folder: Path, saved: bool) -> None:
        super().__init__(128 + number)
        self.signal, self.step, self.folder, self.saved = number, step, folder, saved

    def __str__(self) -> str:
        where = f"saved in {self.folder}" if self.saved else f"{self.folder} has an earlier save only"
        return f"training stopped by {self.signal.name} after step {self.step}; {where}. Resume it with resume=True."


@contextmanager
def stop_requests(on_request: Callable[[], object] | None = None, *, catch: bool = True) -> Iterator[StopRequest]:
    """Record SIGTERM and SIGINT instead of stopping at once, until a second Ctrl-C; then restore the caller's handlers.

    Only the main thread can handle signals; in other threads nothing is recorded.

    Args:
        on_request: called at the first signal.
        catch: whether to handle signals; if False, the request stays empty.
    """
    request = StopRequest()

    def note(number: int, frame: FrameType | None) -> None:
        if request.signal is not None:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        request.signal = signal.Signals(number)
        if on_request is not None:
            on_request()

    if not catch or threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        for number in before:
            signal.signal(number, note)
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
