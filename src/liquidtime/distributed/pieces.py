"""Pieces of work that other processes do: what came of each, and what is said of it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from liquidtime.distributed.worker import Outcome
from liquidtime.training.tracking import NetworkRecord

TRIES = 3
"""Times that a piece of work is begun whose workers die."""


class WorkerDied(RuntimeError):
    """Workers died again and again over the same work: out of memory, or killed."""


class Pieces:
    """Pieces of work and what came of them so far.

    Args:
        names: of the pieces, in words, for progress and messages.
        where: they are done, in words.
        show: whether to show on standard error how many are done.

    Attributes:
        outcomes: of the pieces that are done, by their place.
        fault: the first error that a piece raised; nothing more is begun then.
    """

    def __init__(self, names: Sequence[str], where: str, show: bool) -> None:
        self.names, self.outcomes = names, dict[int, Outcome]()
        self.fault: Exception | None = None
        self._where, self._show = where, show

    def left(self) -> list[int]:
        """Return the places of pieces that are not done."""
        return [place for place in range(len(self.names)) if place not in self.outcomes]

    def take(self, outcome: Outcome) -> None:
        """Keep what came of a piece; tell trackers here what it told them there, and give its warnings again."""
        self.outcomes[outcome.place] = outcome
        networks: dict[str, NetworkRecord] = {}
        for network, record in outcome.told:
            networks.setdefault(network, NetworkRecord(network)).epoch(record)
        for text, category in outcome.warned:
            warnings.warn(text, category, stacklevel=7)
        if outcome.error is not None and self.fault is None:
            self.fault = outcome.error

    def died(self, begun: Sequence[int], turn: int, advice: str, error: BaseException) -> None:
        """Say that a worker died, and what is done again.

        Args:
            begun: places of pieces that were begun and are lost; what was not begun is lost to nobody.
            turn: times that workers died over them before.
            advice: what may help.
            error: how it was noticed.

        Raises:
            WorkerDied: it has happened too often.

        """
        left = ", ".join(self.names[place] for place in begun if place not in self.outcomes)
        if turn + 1 == TRIES:
            text = (
                f"worker processes died {TRIES} times over {left or 'their start'}. Were they out of memory? {advice}"
            )
            raise WorkerDied(text) from error
        warnings.warn(f"a worker process died{f'; done again: {left}' if left else ''}", UserWarning, stacklevel=6)

    @contextmanager
    def line(self) -> Iterator[Callable[[], None]]:
        """Show how many pieces are done, where asked for."""
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
