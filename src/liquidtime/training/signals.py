"""SIGTERM and Ctrl-C as a request to stop at the next step, instead of a cut in the middle of one."""

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
    """Which signal has asked the run to stop, if any."""

    signal: signal.Signals | None = None


class TrainingInterrupted(SystemExit):
    """The run was asked to stop, and did after its step; left alone, it ends the process with code 128 + signal.

    Args:
        asked: the signal.
        step: optimiser steps taken in all.
        folder: where the run is.
        saved: whether the last step is in its checkpoint.
    """

    def __init__(self, asked: signal.Signals, step: int, folder: Path, saved: bool) -> None:
        super().__init__(128 + asked)
        self.signal, self.step, self.folder, self.saved = asked, step, folder, saved

    def __str__(self) -> str:
        where = f"saved in {self.folder}" if self.saved else f"{self.folder} has an earlier save only"
        return f"training stopped by {self.signal.name} after step {self.step}; {where}. Resume it with resume=True."


@contextmanager
def stop_requests(on_request: Callable[[], object] | None = None, *, catch: bool = True) -> Iterator[StopRequest]:
    """Note SIGTERM and SIGINT instead of obeying at once; a second Ctrl-C does so. The caller's handlers come back.

    Only the main thread can handle signals; in another one nothing is noted.

    Args:
        on_request: called when the first signal is noted.
        catch: False leaves signals as they are, and the request empty.
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
