"""Files from their origin, checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Download:
    """One file to download.

    Attributes:
        url: where it is.
        name: what it is called on disk.
        sha256: of its bytes; None for an archive that its host packs anew each time, whose contents are checked
            when they are prepared.

    """

    url: str
    name: str
    sha256: str | None


def fetch(download: Download, into: Path) -> Path:
    """Download a file unless it is there with the right checksum.

    Raises:
        ImportError: pooch is not installed.
        OSError: the network or the host refuses.
        ValueError: the file is not the one with this checksum.

    """
    try:
        import pooch
    except ImportError as error:
        raise ImportError("downloads need pooch: pip install 'liquidtime[paper]'") from error
    known = None if download.sha256 is None else f"sha256:{download.sha256}"
    return Path(pooch.retrieve(download.url, known_hash=known, fname=download.name, path=into))
