"""The record of a run: one line of JSON an epoch, and TensorBoard where it is asked for."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from liquidtime.training.artifact import SaveFailed, write_file
from liquidtime.training.run_folder import LOG, TENSORBOARD


class RunLog:
    """Writes the records of a run into its folder.

    Args:
        folder: of the run; None writes nothing.
        history: the records of a run that goes on; what a killed process wrote behind them is dropped.
        tensorboard: write the numbers for TensorBoard as well.

    Raises:
        ImportError: TensorBoard is asked for and not installed.
        ValueError: TensorBoard is asked for without a folder.

    """

    def __init__(self, folder: Path | None, history: Sequence[Mapping[str, Any]], tensorboard: bool) -> None:
        self._path = folder / LOG if folder else None
        self._board: Any = None
        if tensorboard:
            if folder is None:
                raise ValueError("`tensorboard` needs a `folder` to write into.")
            if find_spec("tensorboard") is None:
                raise ImportError("`tensorboard` is not installed: pip install 'liquidtime[track]'.")
            from torch.utils.tensorboard import SummaryWriter

            first = int(history[-1]["step"]) + 1 if history else 0
            self._board = SummaryWriter(folder / TENSORBOARD, purge_step=first)
        if self._path:
            self._guarded(lambda path: write_file(path, "".join(_line(record) for record in history).encode()))

    def write(self, record: Mapping[str, Any]) -> None:
        """Add the record of an epoch."""
        if self._path:
            self._guarded(lambda path: _append(path, _line(record)))
        if self._board is not None:
            for name, value in record.items():
                if name not in ("epoch", "step"):
                    self._board.add_scalar(name, value, record["step"])

    def close(self) -> None:
        """Write out what is held back."""
        if self._board is not None:
            self._board.close()

    def _guarded(self, write: Any) -> None:
        """A log that cannot be written is no reason to lose a run."""
        try:
            write(self._path)
        except (OSError, SaveFailed) as error:
            warnings.warn(f"could not write {self._path}: {error.strerror}. Training goes on.", stacklevel=4)


def read_log(folder: str | Path) -> list[dict[str, Any]]:
    """Return the records of a run, one an epoch; a last line that was cut off is left out."""
    lines = (Path(folder) / LOG).read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _append(path: Path, line: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(line)


def _line(record: Mapping[str, Any]) -> str:
    plain = {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in record.items()}
    return json.dumps(plain, allow_nan=False) + "\n"
