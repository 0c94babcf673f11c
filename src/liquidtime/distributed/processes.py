"""Pieces of work in several processes with one thread each, with the same results as a loop."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import joblib

from liquidtime.distributed.pieces import TRIES, Pieces
from liquidtime.distributed.worker import BEGUN, STOP, done, in_worker, one_thread
from liquidtime.training.ranks import current
from liquidtime.training.signals import TrainingInterrupted, stop_requests
from liquidtime.training.stages import stage

Item = TypeVar("Item")
Result = TypeVar("Result")
_MAPPED = "1M"
"""Arrays of at least this size are passed to workers as one file in memory, instead of a copy for each."""


def check_jobs(n_jobs: int | None) -> int | None:
    """Return the number of processes for `n_jobs`; None for no other processes, with torch's own threads.

    As in scikit-learn, -1 means one per core that this process may use, -2 all of them except one.

    Raises:
        ValueError: 0, or not a whole number.

    """
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ValueError(f"`n_jobs` must be a number of processes, -1 for one per core, or None; got {n_jobs!r}")
    return n_jobs if n_jobs > 0 else max(1, joblib.cpu_count() + 1 + n_jobs)


def in_processes(
    work: Callable[[Item, bool], Result],
    items: Sequence[Item],
    n_jobs: int | None,
    *,
    names: Sequence[str],
    stages: tuple[int, int] | None = None,
    folder: str | Path | None = None,
    show: bool = False,
) -> list[Result]:
    """Return the results of a function for each item, in the order of the items.

    With a number of processes, each piece is computed with one thread, so that results are the same for any number of
    processes, including 1; with None, this process computes all of them with the threads it has. Inside a worker, no
    further processes are started.

    Args:
        work: (item, again) -> result. `again` is True if a worker died over the item, so that part of the work may
            exist in a folder already. In another process it works on copies.
        items: items of the pieces.
        n_jobs: argument of `check_jobs`.
        names: names of the pieces, for progress and messages.
        stages: position of the first piece in a longer job, and the number of pieces of that job; None if they are all
            of it.
        folder: folder of the run: Ctrl-C and SIGTERM then let every worker save its step before all stop.
        show: whether to show progress on standard error.

    Raises:
        TrainingInterrupted: workers were asked to stop, and stopped.
        WorkerDied: workers died three times over the same work.

    """
    jobs = check_jobs(n_jobs)
    if jobs is not None and current().world > 1:
        raise ValueError(
            "`n_jobs` cannot be combined with several ranks, which already share the training of each network. Leave "
            "it out."
        )
    first, total = stages or (0, len(items))
    if jobs is None or in_worker() or min(jobs, len(items)) < 2:
        results = []
        for place, (item, name) in enumerate(zip(items, names, strict=True)):
            with stage(name, first + place, total), _threads(jobs):
                results.append(work(item, False))
        return results
    return _Pool(work, items, min(jobs, len(items)), names, folder, show).run()


@contextmanager
def _threads(jobs: int | None) -> Iterator[None]:
    if jobs is None:
        yield
        return
    with one_thread():
        yield


class _Pool:
    def __init__(
        self,
        work: Callable[[Any, bool], Any],
        items: Sequence[Any],
        jobs: int,
        names: Sequence[str],
        folder: str | Path | None,
        show: bool,
    ) -> None:
        self.work, self.items, self.jobs, self.folder = work, items, jobs, folder
        self.pieces = Pieces(names, f"in {jobs} processes", show)

    def run(self) -> list[Any]:
        pieces = self.pieces
        with tempfile.TemporaryDirectory(prefix="liquidtime-", ignore_cleanup_errors=True) as control:
            stop = Path(control) / STOP
            with pieces.line() as tell, stop_requests(stop.touch, catch=self.folder is not None) as request:
                for turn in range(TRIES):
                    try:
                        self._round(control, turn > 0, tell)
                        break
                    except BrokenProcessPool as error:
                        if request.signal is not None or pieces.fault is not None:
                            break
                        begun = [place for place in pieces.left() if (Path(control) / f"{BEGUN}{place}").exists()]
                        pieces.died(begun, turn, "Try a smaller `n_jobs`.", error)
        if pieces.fault is not None:
            raise pieces.fault
        self._raise(request.signal)
        return [pieces.outcomes[place].value for place in range(len(self.items))]

    def _round(self, control: str, again: bool, tell: Callable[[], None]) -> None:
        """Let workers do the unfinished pieces; store results as they arrive."""
        pieces = self.pieces
        calls = (
            joblib.delayed(done)(self.work, place, self.items[place], pieces.names[place], again, control, os.getpid())
            for place in pieces.left()
            if pieces.fault is None
        )
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            run = joblib.Parallel(
                n_jobs=self.jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs",
                max_nbytes=_MAPPED, mmap_mode="c",
            )  # fmt: skip
            for outcome in run(calls):
                pieces.take(outcome)
                if pieces.fault is not None:
                    (Path(control) / STOP).touch()  # work in other processes is no longer needed
                tell()

    def _raise(self, asked: signal.Signals | None) -> None:
        """Raise the error for work that was stopped, if it was."""
        outcomes = self.pieces.outcomes
        stopped = [one for one in outcomes.values() if one.stopped]
        if not stopped and len(outcomes) == len(self.items):
            return
        if self.folder is None:
            raise KeyboardInterrupt
        steps, saved = sum(one.step for one in stopped), all(one.saved for one in stopped)
        raise TrainingInterrupted(asked or signal.SIGINT, steps, Path(self.folder), saved)
