"""Result files: one JSON for each experiment, model, protocol and seed."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._provenance import commit, machine, versions
from liquidtime.files.contents import json_to_bytes
from liquidtime.files.whole_files import write_file
from liquidtime.ops.backend import native_is_live


@dataclass(frozen=True)
class Key:
    """What names a run.

    Attributes:
        experiment: its name.
        model: the name of the row.
        protocol: "honest" or another of the experiment's.
        seed: of the run.
        epochs: if not the settings'.
        limit: sequences of each part, if not all.

    """

    experiment: str
    model: str
    protocol: str
    seed: int
    epochs: int | None = None
    limit: int | None = None

    def changed(self) -> str:
        """Return what is not as the settings say, e.g. "epochs3-limit100"; empty for a full run."""
        parts = {"epochs": self.epochs, "limit": self.limit}
        return "-".join(f"{name}{value}" for name, value in parts.items() if value is not None)

    def stem(self) -> str:
        """Return the name of the run's file and folder."""
        changed = f"-{self.changed()}" if self.changed() else ""
        return f"{self.model}-{self.protocol}{changed}-seed{self.seed}"

    def file(self, out: Path) -> Path:
        """Return where the result is."""
        return out / self.experiment / f"{self.stem()}.json"

    def folder(self, out: Path) -> Path:
        """Return where checkpoints are while the run is under way."""
        return out / "runs" / self.experiment / self.stem()

    def kept(self, out: Path) -> Path:
        """Return where weights and pictures are that other runs and figures need; small runs have their own place."""
        return out / "kept" / self.changed()

    def prediction(self, out: Path) -> Path:
        """Return where the prediction of the test part is, of a run that others are averaged with."""
        return self.kept(out) / "predictions" / self.experiment / f"{self.stem()}.npy"


def write_result(path: Path, record: dict[str, Any]) -> None:
    """Write a result, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json_to_bytes(record, indent=1))


def write_prediction(path: Path, prediction: npt.NDArray[np.float64]) -> None:
    """Write a prediction as `np.load` reads it, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = io.BytesIO()
    np.save(data, prediction)
    write_file(path, data.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write a page, whole or not at all."""
    write_file(path, text.encode())


def read_results(out: Path, experiment: str) -> list[dict[str, Any]]:
    """Return the results of an experiment, by file name.

    Raises:
        ValueError: a file that is not a result; the text names it.

    """
    records = []
    for path in sorted((out / experiment).glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            missing = [name for name in ("key", "figures", "stopped") if name not in record]
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is not a result of a run ({error}). Remove it and run again.") from error
        if missing:
            raise ValueError(f"{path} is not a result of a run: it has no {missing[0]!r}. Remove it and run again.")
        records.append(record)
    return records


def surroundings(threads: int, side_by_side: int) -> dict[str, Any]:
    """Return what a figure may depend on besides the settings.

    Args:
        threads: number of threads.
        side_by_side: number of seeds that ran at the same time.

    """
    return {
        "versions": versions(),
        **machine(),
        "threads": threads,
        "side_by_side": side_by_side,
        "native": native_is_live(),
        "commit": commit(),
    }
