"""What a service is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable in which prometheus_client looks for the folder that processes share; it reads it when imported."""


@dataclass(frozen=True)
class Settings:
    """How a model is served.

    Args:
        folder: the exported model.
        state: where the state of series is kept: a file, or the address of a server.
        name: under which the model is served.
        keep: samples of each series that are remembered, with their predictions.
        most_series: that are kept; a further one is refused.
        oldest: seconds after its newest sample at which a series is forgotten; None for never.
        largest_body: of a request, in bytes.
        token: that requests must bear; empty for none.
        only_local: refuse requests that name another host than this machine, as pages of the web could make them.
        threads: that work at once in a process.
    """

    folder: Path
    state: str
    name: str = "model"
    keep: int = 100
    most_series: int = 100_000
    oldest: float | None = None
    largest_body: int = 1_000_000
    token: str = ""
    only_local: bool = True
    threads: int = 16
