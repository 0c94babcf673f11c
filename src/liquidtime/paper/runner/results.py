"""Result files: one JSON file per experiment, model, protocol and seed."""

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
    """The key of a run, which determines its file name.

    Attributes:
        experiment: name of the experiment.
        model: name of the row.
        protocol: "honest" or another protocol of the experiment.
        seed: random seed.
        epochs: number of epochs; None for that of the settings.
        limit: largest number of sequences per part; None for all.

    """

    experiment: str
    model: str
    protocol: str
    seed: int
    epochs: int | None = None
    limit: int | None = None

    def changed(self) -> str:
        """Return the changes of the settings, such as "epochs3-limit100"; empty for a full run."""
        parts = {"epochs": self.epochs, "limit": self.limit}
        return "-".join(f"{name}{value}" for name, value in parts.items() if value is not None)

    def stem(self) -> str:
        """Return the name of the run's file and folder, without an extension."""
        changed = f"-{self.changed()}" if self.changed() else ""
        return f"{self.model}-{self.protocol}{changed}-seed{self.seed}"

    def file(self, out: Path) -> Path:
        """Return the path of the result."""
        return out / self.experiment / f"{self.stem()}.json"

    def folder(self, out: Path) -> Path:
        """Return the folder of the checkpoints during the run."""
        return out / "runs" / self.experiment / self.stem()

    def kept(self, out: Path) -> Path:
        """Return the folder of weights and images for other runs and figures; changed runs have their own folder."""
        return out / "kept" / self.changed()

    def prediction(self, out: Path) -> Path:
        """Return the path of the test predictions, which are stored for runs that are averaged."""
        return self.kept(out) / "predictions" / self.experiment / f"{self.stem()}.npy"


def write_result(path: Path, record: dict[str, Any]) -> None:
    """Write a result, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json_to_bytes(record, indent=1))


def write_prediction(path: Path, prediction: npt.NDArray[np.float64]) -> None:
    """Write a prediction for `np.load`, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = io.BytesIO()
    np.save(data, prediction)
    write_file(path, data.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write a page, completely or not at all."""
    write_file(path, text.encode())


def read_results(out: Path, experiment: str) -> list[dict[str, Any]]:
    """Return the results of an experiment, sorted by file name.

    Raises:
        ValueError: a file is not a result; the message names it.

    """
    records = []
    for path in sorted((out / experiment).glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            missing = [name for name in ("key", "figures", "stopped") if name not in record]
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is not a result file ({error}). Remove it and run again.") from error
        if missing:
            raise ValueError(f"{path} is not a result file: it has no {missing[0]!r}. Remove it and run again.")
        records.append(record)
    return records


def surroundings(threads: int, side_by_side: int) -> dict[str, Any]:
    """Return versions, hardware and load, which figures may depend on besides the settings.

    Args:
        threads: number of threads.
        side_by_side: number of seeds that ran in parallel.

    """
    return {
        "versions": versions(),
        **machine(),
        "threads": threads,
        "side_by_side": side_by_side,
        "native": native_is_live(),
        "commit": commit(),
    }
