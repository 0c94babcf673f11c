"""Where a model folder may be written, looked at before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

from liquidtime.estimators.files.model_folder import CONFIG, WEIGHTS
from liquidtime.files.folders import refuse_foreign
from liquidtime.files.sealed import MANIFEST
from liquidtime.training.run_folder import RunFolder

_LONGEST_NAME = 220
"""Bytes in the name of a model folder: temporary names beside it are longer, and file systems take 255."""


def check_place(folder: str | Path, *, resume: bool = False, restart: bool = False) -> None:
    """Refuse a place where a model could not be written in the end, or whose run cannot be started.

    Args:
        folder: the model folder to be written.
        resume: a run that was stopped is to be resumed.
        restart: it is to be discarded.

    Raises:
        FileExistsError: something there that is not a model folder, or a run that was stopped.
        FileNotFoundError: the folder around it does not exist.
        FolderInUse: a run is at work there.
        ValueError: a name that is too long, or both `resume` and `restart`.

    """
    home = Path(folder).absolute()
    if resume and restart:
        raise ValueError("resume=True resumes an interrupted run and restart=True discards it; give only one of them")
    if home.is_symlink() or (home.exists() and not _is_model_or_empty(home)):
        raise FileExistsError(f"`folder` {folder} exists and is not a model folder; choose another name")
    if not home.parent.is_dir():
        raise FileNotFoundError(f"`folder` {folder} must lie in a folder that exists; there is no {home.parent}")
    if len(os.fsencode(home.name)) > _LONGEST_NAME:
        raise ValueError(f"`folder` must have a name of at most {_LONGEST_NAME} bytes; got {home.name[:40]!r}…")
    refuse_foreign(home, (CONFIG, WEIGHTS))
    RunFolder(home).refuse(resume=resume, discard=restart)


def _is_model_or_empty(home: Path) -> bool:
    return home.is_dir() and ((home / MANIFEST).is_file() or not any(home.iterdir()))
