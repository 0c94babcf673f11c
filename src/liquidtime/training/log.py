"""The log of a run: one line of JSON per epoch, which is also sent to trackers."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from liquidtime.files.whole_files import SaveFailed, write_file
from liquidtime.training.run_folder import LOG
from liquidtime.training.tracking import NetworkRecord


class RunLog:
    """Writes the records of a run to its folder and sends them to the trackers.

    Args:
        folder: folder of the run; None for no folder.
        history: records of a run that is resumed; later lines, which a killed process wrote, are removed.

    """

    def __init__(self, folder: Path | None, history: Sequence[Mapping[str, Any]]) -> None:
        self._path = folder / LOG if folder else None
        self._network = NetworkRecord()
        if self._path:
            self._guarded(lambda path: write_file(path, "".join(_line(record) for record in history).encode()))
        for record in history:
            self._network.epoch(record)

    def write(self, record: Mapping[str, Any]) -> None:
        """Add the record of an epoch."""
        if self._path:
            self._guarded(lambda path: _append(path, _line(record)))
        self._network.epoch(record)

    def _guarded(self, write: Any) -> None:
        """Write; if that fails, warn and continue without a log."""
        try:
            write(self._path)
        except (OSError, SaveFailed) as error:
            warnings.warn(f"could not write {self._path}: {error.strerror}. Training continues.", stacklevel=4)


def read_log(folder: str | Path) -> list[dict[str, Any]]:
    """Return the records of a run, one per epoch; an incomplete last line is ignored."""
    lines = (Path(folder) / LOG).read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _append(path: Path, line: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(line)


def _line(record: Mapping[str, Any]) -> str:
    plain = {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in record.items()}
    return json.dumps(plain, allow_nan=False) + "\n"
