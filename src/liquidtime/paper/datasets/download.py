"""Download files and compare their checksums."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Download:
    """One file to download.

    Attributes:
        url: address of the file.
        name: name of the file on disk.
        sha256: SHA-256 of the file; None for an archive that its host creates at each request, whose contents are
            checked later.

    """

    url: str
    name: str
    sha256: str | None


def fetch(download: Download, into: Path) -> Path:
    """Download a file, unless it exists with the right checksum.

    Raises:
        ImportError: pooch is not installed.
        OSError: the network or the host failed.
        ValueError: the file has another checksum.

    """
    try:
        import pooch
    except ImportError as error:
        raise ImportError("downloads need pooch: pip install 'liquidtime[paper]'") from error
    known = None if download.sha256 is None else f"sha256:{download.sha256}"
    return Path(pooch.retrieve(download.url, known_hash=known, fname=download.name, path=into))
