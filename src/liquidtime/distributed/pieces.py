"""Pieces of work that other processes do: their results, and messages about them."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from liquidtime.distributed.worker import Outcome
from liquidtime.training.tracking import NetworkRecord

TRIES = 3
"""Number of attempts at a piece of work whose workers die."""


class WorkerDied(RuntimeError):
    """Workers died repeatedly over the same work: out of memory, or killed."""


class Pieces:
    """Pieces of work and their results so far.

    Args:
        names: names of the pieces, for progress and messages.
        where: description of where they are done.
        show: whether to show progress on standard error.

    Attributes:
        outcomes: results of the finished pieces, by position.
        fault: the first error that a piece raised; no further piece is started then.
    """

    def __init__(self, names: Sequence[str], where: str, show: bool) -> None:
        self.names, self.outcomes = names, dict[int, Outcome]()
        self.fault: Exception | None = None
        self._where, self._show = where, show

    def left(self) -> list[int]:
        """Return the positions of unfinished pieces."""
        return [place for place in range(len(self.names)) if place not in self.outcomes]

    def take(self, outcome: Outcome) -> None:
        """Store the result of a piece; forward its tracker records and warnings in this process."""
        self.outcomes[outcome.place] = outcome
        networks: dict[str, NetworkRecord] = {}
        for network, record in outcome.records:
            networks.setdefault(network, NetworkRecord(network)).epoch(record)
        for text, category in outcome.warning_records:
            warnings.warn(text, category, stacklevel=7)
        if outcome.error is not None and self.fault is None:
            self.fault = outcome.error

    def died(self, begun: Sequence[int], turn: int, advice: str, error: BaseException) -> None:
        """Report that a worker died, and which pieces are repeated.

        Args:
            begun: positions of pieces that were started and are lost; pieces that were not started are unaffected.
            turn: how often workers have died over them before.
            advice: what might help.
            error: error by which it was noticed.

        Raises:
            WorkerDied: it has happened too often.

        """
        left = ", ".join(self.names[place] for place in begun if place not in self.outcomes)
        if turn + 1 == TRIES:
            text = (
                f"worker processes died {TRIES} times over {left or 'their start'}. Were they out of memory? {advice}"
            )
            raise WorkerDied(text) from error
        warnings.warn(f"a worker process died{f'; repeating: {left}' if left else ''}", UserWarning, stacklevel=6)

    @contextmanager
    def line(self) -> Iterator[Callable[[], None]]:
        """Show how many pieces are finished, if requested."""
        if not self._show or threading.current_thread() is not threading.main_thread():
            yield lambda: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        words = f"{self.names[0]} … {self.names[-1]} {self._where}"
        columns = (TextColumn(words), BarColumn(bar_width=None), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True, force_terminal=True), expand=True) as bar:
            task = bar.add_task("", total=len(self.names))
            yield lambda: bar.update(task, completed=len(self.outcomes))
