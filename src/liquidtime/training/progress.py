"""A line that shows how far a run is; silent where nobody watches."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class ProgressLine:
    """Epoch, loss, metric, rate and time left, on standard error.

    Args:
        show: True, False, or None for only if standard error is a terminal.
        epochs: of the run.
        metric: name of the monitored metric, "" without validation.
    """

    def __init__(self, show: bool | None, epochs: int, metric: str) -> None:
        self._epochs, self._metric_name, self._metric = epochs, metric, ""
        self._bar: Any = None
        if show if show is not None else sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("epoch {task.fields[epoch]}"),
                BarColumn(bar_width=None),
                TextColumn("loss {task.fields[loss]:.4f}{task.fields[metric]}  rate {task.fields[rate]:.1e}"),
                TimeRemainingColumn(),
                console=Console(stderr=True, force_terminal=True if show else None),
                expand=True,
            )
            self._task = self._bar.add_task(
                "", total=float(epochs), epoch=f"1/{epochs}", loss=float("nan"), metric="", rate=0.0
            )

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
            epoch: from 0.
            share: of the epoch that is done.
            loss: mean over the epoch so far.
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
            )

    def validated(self, value: float, best: float | None) -> None:
        """Show a validation metric from now on."""
        top = f" (best {best:.4f})" if best is not None else ""
        self._metric = f"  {self._metric_name} {value:.4f}{top}"
