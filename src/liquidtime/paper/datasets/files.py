"""Find the files of a data set: in a given folder, in that of the environment, in the cache, or at their origin."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from liquidtime.paper.datasets.download import Download, fetch

ENVIRONMENT = "LIQUIDTIME_DATA"


class DataNotFound(FileNotFoundError):
    """The files of a data set were not found and could not be downloaded."""


@dataclass(frozen=True)
class Origin:
    """The origin of a data set, and how its files are prepared.

    Attributes:
        folder: name of its folder inside a data folder.
        files: names of the prepared files, all of which must exist.
        downloads: files to download.
        prepare: (folder with the downloads, folder to write to) -> None; writes and checks `files`.

    """

    folder: str
    files: tuple[str, ...]
    downloads: tuple[Download, ...]
    prepare: Callable[[Path, Path], None]


def locate(origin: Origin, data_dir: str | Path | None = None) -> Path:
    """Return the folder that has the prepared files of a data set.

    They are searched in `data_dir`, then in the folder that LIQUIDTIME_DATA names, then in the cache. If none has them,
    they are downloaded from their origin, checked, and put into the cache.

    Args:
        origin: origin of the data set.
        data_dir: folder with one folder per data set.

    Raises:
        DataNotFound: there are no files; the message says where they were searched and what to do.

    """
    places = [Path(data_dir)] if data_dir is not None else []
    if os.environ.get(ENVIRONMENT):
        places.append(Path(os.environ[ENVIRONMENT]))
    places.append(cache_folder())
    for place in places:
        folder = place / origin.folder
        if all((folder / name).is_file() for name in origin.files):
            return folder
    looked = ", ".join(str(place / origin.folder) for place in places)
    try:
        return _into_cache(origin)
    except (OSError, ImportError, ValueError) as error:
        raise DataNotFound(
            f"The files of {origin.folder} ({', '.join(origin.files)}) are in none of {looked}, and getting them from "
            f"{origin.downloads[0].url} failed: {error}. Pass `data_dir` or set {ENVIRONMENT} to a folder that has "
            f"{origin.folder}/, or run again with a network and pip install 'liquidtime[paper]'."
        ) from error


def cache_folder() -> Path:
    """Return the cache folder of this platform for data of this package."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "liquidtime" / "data"


def _into_cache(origin: Origin) -> Path:
    """Download and prepare the files; the cache gets the whole folder or nothing."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    raw = cache / "downloads" / origin.folder
    for download in origin.downloads:
        fetch(download, raw)
    made = Path(tempfile.mkdtemp(prefix=f".{origin.folder}.", dir=cache))
    try:
        origin.prepare(raw, made)
        target = cache / origin.folder
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    shutil.rmtree(raw, ignore_errors=True)
    return target
