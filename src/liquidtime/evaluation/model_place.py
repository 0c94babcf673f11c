"""Check where a model folder is to be written, before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

from liquidtime.estimators.files.model_folder import CONFIG, WEIGHTS
from liquidtime.files.folders import refuse_foreign
from liquidtime.files.sealed import MANIFEST
from liquidtime.training.run_folder import RunFolder

_LONGEST_NAME = 220
"""Largest name of a model folder in bytes: temporary names next to it are longer, and file systems allow 255."""


def check_place(folder: str | Path, *, resume: bool = False, restart: bool = False) -> None:
    """Refuse a folder to which the model could not be written in the end, or in which the run cannot start.

    Args:
        folder: model folder to write.
        resume: whether to resume an interrupted run.
        restart: whether to discard it.

    Raises:
        FileExistsError: it exists and is not a model folder, or there is an interrupted run.
        FileNotFoundError: its parent folder does not exist.
        FolderInUse: another run is using it.
        ValueError: its name is too long, or both `resume` and `restart` are set.

    """
    home = Path(folder).absolute()
    if resume and restart:
        raise ValueError("resume=True resumes an interrupted run and restart=True discards it; give only one of them")
    if home.is_symlink() or (home.exists() and not _is_model_or_empty(home)):
        raise FileExistsError(f"`folder` {folder} exists and is not a model folder; choose another name")
    if not home.parent.is_dir():
        raise FileNotFoundError(f"`folder` {folder} must be in a folder that exists; there is no {home.parent}")
    if len(os.fsencode(home.name)) > _LONGEST_NAME:
        raise ValueError(f"`folder` must have a name of at most {_LONGEST_NAME} bytes; got {home.name[:40]!r}…")
    refuse_foreign(home, (CONFIG, WEIGHTS))
    RunFolder(home).refuse(resume=resume, discard=restart)


def _is_model_or_empty(home: Path) -> bool:
    return home.is_dir() and ((home / MANIFEST).is_file() or not any(home.iterdir()))
