from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from liquidtime.training import Tracker


class TensorBoard(Tracker):
    """Writes event files for TensorBoard: one folder per network, `<folder>/<name>/<network>`.

    Args:
        folder: folder for the event files; `tensorboard --logdir runs` shows it.
    """

    def __init__(self, folder: str | Path = "runs") -> None:
        self.folder = Path(folder)
        self._network = ""
        self._writer: Any = None

    def start(self, name: str, settings: Mapping[str, Any]) -> None:
        """Write the settings as a table."""
        if find_spec("tensorboard") is None:
            raise ImportError("the tracker `tensorboard` needs its package: pip install 'liquidtime[track]'")
        self._home = self.folder / name
        rows = "\n".join(f"| {key} | {value} |" for key, value in settings.items())
        self._write("job", 0).add_text("settings", f"| setting | value |\n|---|---|\n{rows}", 0)

    def epoch(self, network: str, record: Mapping[str, Any]) -> None:
        """Write the numbers of an epoch at its step."""
        writer = self._write(network, record["step"])
        for name, value in record.items():
            if name not in ("epoch", "step"):
                writer.add_scalar(name, value, record["step"])

    def finish(self, figures: Mapping[str, float], folder: Path | None, error: BaseException | None) -> None:
        """Write the test figures."""
        writer = self._write("job", 0)
        for name, value in figures.items():
            writer.add_scalar(f"test/{name}", value, 0)
        writer.close()
        self._writer = None

    def _write(self, network: str, step: int) -> Any:
        """Return the writer of a network; entries of earlier files for this step and later ones are discarded."""
        if self._writer is None or network != self._network:
            if self._writer is not None:
                self._writer.close()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # from imports of TensorBoard itself
                from torch.utils.tensorboard import SummaryWriter
            self._network, self._writer = network, SummaryWriter(self._home / network, purge_step=step)
        return self._writer
