"""A progress line of a run and of the job that it is part of; silent if nobody is watching."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from liquidtime.training.stages import share_done, stage_words, started


class ProgressLine:
    """Shows the current stage, epoch, loss, metric, rate and remaining time of the whole job on standard error.

    Args:
        show: whether to show it; None: only if standard error is a terminal.
        epochs: number of epochs of the run.
        metric: name of the monitored metric; "" without validation.
    """

    def __init__(self, show: bool | None, epochs: int, metric: str) -> None:
        self._epochs, self._metric_name, self._metric = epochs, metric, ""
        self._bar: Any = None
        if show if show is not None else sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                TextColumn("{task.fields[where]}epoch {task.fields[epoch]}"),
                BarColumn(bar_width=None),
                TextColumn("loss {task.fields[loss]:.4f}{task.fields[metric]}  rate {task.fields[rate]:.1e}"),
                TextColumn("{task.fields[left]}"),
                console=Console(stderr=True, force_terminal=True if show else None),
                expand=True,
            )
            words = stage_words()
            self._where, self._started = f"{words}, " if words else "", started() or time.monotonic()
            self._task = self._bar.add_task(
                "", total=float(epochs), epoch=f"1/{epochs}", loss=float("nan"), metric="", rate=0.0, left="",
                where=self._where,
            )  # fmt: skip

    def __enter__(self) -> ProgressLine:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, epoch: int, share: float, loss: float, rate: float) -> None:
        """Show a step.

        Args:
            epoch: number of the epoch, from 0.
            share: share of the epoch that is done, 0…1.
            loss: mean loss of the epoch so far.
            rate: learning rate.
        """
        if self._bar is not None:
            self._bar.update(
                self._task,
                completed=epoch + share,
                epoch=f"{min(epoch + 1, self._epochs)}/{self._epochs}",
                loss=loss,
                metric=self._metric,
                rate=rate,
                where=self._where,
                left=time_left(share_done((epoch + share) / self._epochs), time.monotonic() - self._started),
            )

    def validated(self, value: float, best: float | None) -> None:
        """Show a validation metric from now on."""
        top = f" (best {best:.4f})" if best is not None else ""
        self._metric = f"  {self._metric_name} {value:.4f}{top}"


def time_left(share: float, elapsed: float) -> str:
    """Return the remaining time of the whole job in words; "" as long as it is unknown.

    Args:
        share: share of the job that is done, 0…1.
        elapsed: seconds since the job started.
    """
    if not 0.0 < share < 1.0 or elapsed <= 0.0:
        return ""
    seconds = round(elapsed * (1.0 - share) / share)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours}:{minutes:02d}:{seconds % 60:02d} left" if hours else f"{minutes}:{seconds % 60:02d} left"
