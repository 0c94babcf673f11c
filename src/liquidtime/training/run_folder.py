"""The folder of a training run: its marker, its lock, and its removal.

A run writes a marker file first. A folder without the marker was made by somebody else and is never used; in a folder
with the marker, only files that runs write are ever removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from liquidtime.files.folders import previous_of
from liquidtime.files.locks import lock_file
from liquidtime.files.sealed import MANIFEST
from liquidtime.files.temporaries import remove_folder, temporaries_of
from liquidtime.files.whole_files import write_file
from liquidtime.training.checkpoint import STATE, TENSORS

MARKER, LOCK, JOB_LOCK, FINGERPRINT = "liquidtime-run.txt", "lock", "job.lock", "job.sha256"
CHECKPOINT, LOG = "checkpoint", "metrics.jsonl"
_MARK = "This folder belongs to a training run of liquidtime, which removes its own files when it ends.\n"
_FILES = (FINGERPRINT, LOG, LOCK, JOB_LOCK)
_CHECKPOINTS = (CHECKPOINT, previous_of(Path(CHECKPOINT)).name)
_CHECKPOINT_FILES = (STATE, TENSORS, MANIFEST)
_NAMES = (*_CHECKPOINTS, *_FILES)
_MEMBER = re.compile(r"(member|trial|fold)-\d+|refit")


@contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Lock a folder, which is created if necessary, for one call of `train`; the lock ends with the process.

    An existing folder may have other files, which are left unchanged, but none with the name of a run's file.

    Raises:
        FileExistsError: it has a file with such a name, but no run of this version made the folder.
        FolderInUse: another run uses it; the message names its process.

    """
    if not is_marked(folder):
        taken = next((name for name in _NAMES if (folder / name).exists() or (folder / name).is_symlink()), None)
        if taken is not None:
            raise FileExistsError(
                f"`folder` {folder} has {taken!r} but no {MARKER}, so no run of this version wrote it. "
                "Choose another folder."
            )
        _make(folder)
    busy = f"`folder` {folder} is in use by process {{pid}}. Wait for it to end, or choose another folder."
    with lock_file(folder / LOCK, busy):
        yield


def marked_folder(folder: Path) -> Path:
    """Return a marked folder inside that of a run, for one of several fits; it is created if necessary."""
    if not is_marked(folder):
        _make(folder)
    return folder


def is_marked(folder: Path) -> bool:
    """Return whether a folder has the marker of a run; links are not followed."""
    try:
        plain = stat.S_ISDIR(folder.lstat().st_mode) and stat.S_ISREG((folder / MARKER).lstat().st_mode)
        return plain and (folder / MARKER).stat().st_size == len(_MARK) and (folder / MARKER).read_text() == _MARK
    except (OSError, UnicodeDecodeError):
        return False


class RunFolder:
    """The folder `<out>.run`, in which the job that writes the model folder `<out>` keeps its run.

    Args:
        out: the model folder.
    """

    def __init__(self, out: Path) -> None:
        home = out.absolute()
        self.path = home.with_name(f"{home.name}.run")

    def refuse(self, *, resume: bool, discard: bool) -> None:
        """Refuse, before any work, a folder that does not belong to a run, is in use, or has an interrupted run.

        Args:
            resume: whether an interrupted run is to be resumed.
            discard: whether an interrupted run is to be removed, which `held` does.

        Raises:
            FileExistsError: no run made what has this name, or there is an interrupted run.
            FolderInUse: a run is using it.

        """
        if not (self.path.exists() or self.path.is_symlink()):
            return
        if not is_marked(self.path):
            raise FileExistsError(
                f"{self.path} exists and was not written by a run of this version: it has no {MARKER}. It is left "
                "unchanged; move it away, or choose another `folder`"
            )
        with self._locked():
            if not (resume or discard):
                raise FileExistsError(
                    f"{self.path} has an interrupted run. Add resume=True to resume it, or restart=True to start over."
                )

    @contextmanager
    def held(self, fingerprint: str, *, resume: bool, discard: bool) -> Iterator[None]:
        """Lock the folder for one job; it is created if necessary.

        Args:
            fingerprint: SHA-256 of data and settings; a run is only resumed with the same ones.
            resume: resume an interrupted run, if there is one.
            discard: remove an interrupted run instead.

        Raises:
            FileExistsError: see `refuse`.
            FolderInUse: see `refuse`.
            ValueError: the run to resume has another fingerprint.

        """
        self.refuse(resume=resume, discard=discard)
        if discard and not resume and is_marked(self.path):
            with self._locked():
                left = self.clear()
            if left:
                raise FileExistsError(f"{self.path} still has files that no run wrote, such as {left[0].name!r}")
        if not is_marked(self.path):
            _make(self.path, new=True)
        with self._locked():
            stored = self._fingerprint()
            if resume and stored is not None and stored != fingerprint:
                raise ValueError(
                    f"{self.path} has an interrupted run with other data or settings. Use the same ones to resume it, "
                    "or add "
                    "restart=True, without resume=True, to discard it and start over."
                )
            write_file(self.path / FINGERPRINT, fingerprint.encode())
            yield

    def has_checkpoint(self) -> bool:
        """Return whether there is anything to resume."""
        return _has_checkpoint(self.path)

    def clear(self) -> list[Path]:
        """Remove the run's files, and the folder if it is then empty; return the other files in it, which are kept."""
        return clear_run(self.path)

    def _fingerprint(self) -> str | None:
        """Return the stored fingerprint; None if it is missing or incomplete."""
        try:
            text = (self.path / FINGERPRINT).read_bytes()[:65].decode(errors="replace")
        except FileNotFoundError:
            return None
        return text if re.fullmatch("[0-9a-f]{64}", text) else None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        busy = f"a run is at work in {self.path} (process {{pid}}). Wait for it to end, or choose another `folder`."
        try:
            with lock_file(self.path / JOB_LOCK, busy):
                yield
        finally:
            if os.name == "nt" and self.path.is_dir() and not is_marked(self.path):  # it removes no open file
                _unlink_plain(self.path / JOB_LOCK)
                _remove_if_empty(self.path)


def clear_run(folder: Path) -> list[Path]:
    """Remove the files of runs from a folder and its subfolders of members, folds and trials, and folders left empty.

    Returns:
        The files that are left, sorted: those that no run wrote. A folder without a marker is not changed.

    """
    for member in _members(folder):
        clear_run(member)
    if is_marked(folder):
        remove_leftovers(folder)
        for name in _CHECKPOINTS:
            remove_folder(folder / name, _CHECKPOINT_FILES)
        for name in _FILES:
            _unlink_plain(folder / name)
        _unlink_plain(folder / MARKER)  # last, so that an interrupted removal is repeated
    _remove_if_empty(folder)
    return sorted(folder.iterdir()) if folder.is_dir() else []


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files that a killed process left in the folder of a run; the caller must hold its lock."""
    for name in _CHECKPOINTS:
        for item in temporaries_of(folder / name):
            remove_folder(item, _CHECKPOINT_FILES)
    for name in _FILES:
        for item in temporaries_of(folder / name):
            _unlink_plain(item)


def _make(folder: Path, *, new: bool = False) -> None:
    """Create a folder that only its owner can read, and mark it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=not new)
    write_file(folder / MARKER, _MARK.encode())


def _members(folder: Path) -> list[Path]:
    """Return the marked folders of members, trials, folds and the last fit inside the folder of a run."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(item for item in folder.iterdir() if _MEMBER.fullmatch(item.name) and is_marked(item))


def _has_checkpoint(folder: Path) -> bool:
    own = any((folder / name).is_dir() for name in _CHECKPOINTS)
    return own or any(_has_checkpoint(member) for member in _members(folder))


def _unlink_plain(path: Path) -> None:
    """Remove a plain file; a folder or a link is kept, and so is a file that is open on Windows."""
    if path.is_file() and not path.is_symlink():
        with contextlib.suppress(PermissionError):
            path.unlink(missing_ok=True)


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
