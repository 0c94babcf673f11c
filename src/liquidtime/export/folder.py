"""The folder of an exported model, which is written only after the model has passed its check."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from liquidtime.export.manifest import NAME
from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.folders import write_folder
from liquidtime.files.sealed import SealedFolder


@dataclass(frozen=True)
class Exported:
    """The result of an export.

    Args:
        path: the folder, or the file of a bare layer.
        sizes: sizes in bytes by file name.
        largest_difference: largest difference from the library on the test vectors, in probabilities or in standard
            deviations of a regression target.
        microseconds: median time of one sample with its prediction on this machine.
        facts: further properties by name.
    """

    path: Path
    sizes: Mapping[str, int]
    largest_difference: float
    microseconds: float
    facts: Mapping[str, str] = field(default_factory=dict)


def is_export(path: Path) -> bool:
    """Return whether a folder is empty or contains an export."""
    try:
        return path.is_dir() and (not any(path.iterdir()) or NAME in SealedFolder(path).entries)
    except DamagedFolder:
        return False


@contextmanager
def scratch_folder(files: Mapping[str, bytes]) -> Iterator[Path]:
    """Write files into a temporary folder for testing."""
    with tempfile.TemporaryDirectory(prefix="liquidtime-export-") as name:
        folder = Path(name) / "exported"
        write_folder(folder, files)
        yield folder


def write_exported(
    path: Path,
    files: Mapping[str, bytes],
    difference: float,
    microseconds: float,
    facts: Mapping[str, str] | None = None,
) -> Exported:
    """Write the folder and return a description of it; arguments as in `Exported`."""
    write_folder(path.absolute(), files)
    sizes = {name: len(content) for name, content in files.items()}
    return Exported(path, sizes, difference, microseconds, facts or {})
