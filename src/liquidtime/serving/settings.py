"""The settings of a service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable in which prometheus_client looks for the folder that processes share; it is read on import."""


@dataclass(frozen=True)
class Settings:
    """How a model is served.

    Args:
        folder: the exported model.
        state: where the state of series is stored: a file, or the address of a server.
        name: under which the model is served.
        keep: number of samples stored per series, with their predictions.
        most_series: largest number of stored series; further series are refused.
        oldest: seconds after its newest sample at which a series is removed; None for never.
        largest_body: largest body of a request, in bytes.
        token: token that requests need; empty for none.
        only_local: refuse requests for a host other than this machine, which pages on the web could send.
        threads: number of threads that work at once in a process.
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
