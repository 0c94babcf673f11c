"""Times of several things, measured in turns, so that what else the machine does hits all alike."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch

from liquidtime.ops import using_backend

Times = dict[str, dict[int, list[float]]]
"""Seconds of one call, by name, then by number of threads, one for each repetition."""

LEAST = 0.02
BUDGET = 10.0
SLOW = 0.5


@dataclasses.dataclass(frozen=True)
class Timed:
    """Something to be timed.

    Args:
        call: does it once.
        backend: of the scans of this package.
        grad: whether gradients are recorded.

    """

    call: Callable[[], object]
    backend: str = "auto"
    grad: bool = True

    @contextlib.contextmanager
    def conditions(self) -> Iterator[None]:
        """Choose backend and recording for the lines inside a `with`."""
        with using_backend(self.backend), torch.set_grad_enabled(self.grad):
            yield


def interleaved(
    runs: Mapping[str, Timed],
    *,
    threads: Sequence[int] = (1,),
    repeats: int = 10,
    least: float = LEAST,
    budget: float = BUDGET,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Time every run with every number of threads, A B C A B C …, after two calls each that are not counted.

    A call of half a second or more is made once beforehand, not twice.

    Args:
        runs: by name.
        threads: how many PyTorch and the kernels may use, each in turn.
        repeats: how many rounds.
        least: seconds that one repetition should last; quicker calls are made several times in a row.
        budget: seconds after which a run sits out, once it has been in two rounds.
        clock: tells seconds.

    """
    times: Times = {name: {n: [] for n in threads} for name in runs}
    spent = {(name, n): 0.0 for name in runs for n in threads}
    calls: dict[tuple[str, int], int] = {}
    with _threads_restored():
        for n in threads:
            _use_threads(n)
            for name, run in runs.items():
                with run.conditions():
                    seconds = _timed(run, 1, clock)
                    if seconds < SLOW:
                        seconds = _timed(run, 1, clock)
                calls[name, n] = max(1, math.ceil(least / max(seconds, 1e-9)))
        for turn in range(repeats):
            for n in threads:
                _use_threads(n)
                for name, run in runs.items():
                    if turn >= 2 and spent[name, n] > budget:
                        continue
                    count = calls[name, n]
                    with run.conditions():
                        seconds = _timed(run, count, clock)
                    spent[name, n] += seconds
                    times[name][n].append(seconds / count)
    return times


def _timed(run: Timed, count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        run.call()
    return clock() - start


@contextlib.contextmanager
def _threads_restored() -> Iterator[None]:
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _use_threads(count: int) -> None:
    """Set the number of threads and wake them."""
    torch.set_num_threads(count)
    awake = torch.ones(256, 256)
    torch.mm(awake, awake)
