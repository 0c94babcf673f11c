"""The folder of a training run: which files in it are ours, who holds it, and how it is removed.

A run writes a marker file first. A folder without it was made by somebody else, so it is never taken over; and of a
folder with it only files that runs write are ever removed.
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
_MARK = "This folder belongs to a training run of liquidtime, which removes its own files from it in the end.\n"
_FILES = (FINGERPRINT, LOG, LOCK, JOB_LOCK)
_CHECKPOINTS = (CHECKPOINT, previous_of(Path(CHECKPOINT)).name)
_CHECKPOINT_FILES = (STATE, TENSORS, MANIFEST)
_NAMES = (*_CHECKPOINTS, *_FILES)
_MEMBER = re.compile(r"(member|trial|fold)-\d+|refit")


@contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be, for one call of `train`; the lock goes with the process, however it ends.

    A folder that is there already may hold other files, which stay as they are, but none of the names of a run's.

    Raises:
        FileExistsError: it has a file of such a name, and no run of this version made it.
        FolderInUse: another run holds it; the text names its process.

    """
    if not is_marked(folder):
        taken = next((name for name in _NAMES if (folder / name).exists() or (folder / name).is_symlink()), None)
        if taken is not None:
            raise FileExistsError(
                f"`folder` {folder} has a {taken!r} but no {MARKER}, so no run of this version wrote it. "
                "Choose another folder."
            )
        _make(folder)
    busy = f"`folder` {folder} is in use by process {{pid}}. Wait for it to end, or choose another folder."
    with lock_file(folder / LOCK, busy):
        yield


def marked_folder(folder: Path) -> Path:
    """Return a folder inside that of a run, made and marked if need be, for one of the run's several fits."""
    if not is_marked(folder):
        _make(folder)
    return folder


def is_marked(folder: Path) -> bool:
    """Return whether a folder, itself and not through a link, has the marker of a run."""
    try:
        plain = stat.S_ISDIR(folder.lstat().st_mode) and stat.S_ISREG((folder / MARKER).lstat().st_mode)
        return plain and (folder / MARKER).stat().st_size == len(_MARK) and (folder / MARKER).read_text() == _MARK
    except (OSError, UnicodeDecodeError):
        return False


class RunFolder:
    """The folder `<out>.run` in which the job that makes the model folder `<out>` keeps its run.

    Args:
        out: the model folder.
    """

    def __init__(self, out: Path) -> None:
        home = out.absolute()
        self.path = home.with_name(f"{home.name}.run")

    def refuse(self, *, resume: bool, discard: bool) -> None:
        """Refuse, before any work, a folder that is not a run's, one at work, and one that was stopped.

        Args:
            resume: a run that was stopped is welcome.
            discard: it is removed by `held`.

        Raises:
            FileExistsError: something of that name that no run made, or a run that was stopped.
            FolderInUse: a run is at work in it.

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
        """Hold the folder for one job, made if need be.

        Args:
            fingerprint: sha256 of the data and settings; a run continues only with its own.
            resume: continue the run that was stopped, if there is one.
            discard: remove it instead.

        Raises:
            FileExistsError: see `refuse`.
            FolderInUse: see `refuse`.
            ValueError: `resume` with another fingerprint than the run's.

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
        """Remove the run's files, and the folder if it is then empty; return what else is in it, which stays."""
        return clear_run(self.path)

    def _fingerprint(self) -> str | None:
        """Return the stored fingerprint; None where there is none, or one that is not whole."""
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
            if os.name == "nt" and self.path.is_dir() and not is_marked(self.path):  # it removes no file that is open
                _unlink_plain(self.path / JOB_LOCK)
                _remove_if_empty(self.path)


def clear_run(folder: Path) -> list[Path]:
    """Remove what runs wrote into a folder and into those of its members and the like, and each that is then empty.

    Returns:
        What is left, sorted: files that no run wrote. A folder without a marker is left as it is.

    """
    for member in _members(folder):
        clear_run(member)
    if is_marked(folder):
        remove_leftovers(folder)
        for name in _CHECKPOINTS:
            remove_folder(folder / name, _CHECKPOINT_FILES)
        for name in _FILES:
            _unlink_plain(folder / name)
        _unlink_plain(folder / MARKER)  # last, so that a clean-up cut short is taken up again
    _remove_if_empty(folder)
    return sorted(folder.iterdir()) if folder.is_dir() else []


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed process was writing into the folder of a run; for the holder of its lock only."""
    for name in _CHECKPOINTS:
        for item in temporaries_of(folder / name):
            remove_folder(item, _CHECKPOINT_FILES)
    for name in _FILES:
        for item in temporaries_of(folder / name):
            _unlink_plain(item)


def _make(folder: Path, *, new: bool = False) -> None:
    """Make a folder that only its owner reads, and mark it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=not new)
    write_file(folder / MARKER, _MARK.encode())


def _members(folder: Path) -> list[Path]:
    """Return the folders of members, trials, folds and the last fit inside a run's that are marked."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(item for item in folder.iterdir() if _MEMBER.fullmatch(item.name) and is_marked(item))


def _has_checkpoint(folder: Path) -> bool:
    own = any((folder / name).is_dir() for name in _CHECKPOINTS)
    return own or any(_has_checkpoint(member) for member in _members(folder))


def _unlink_plain(path: Path) -> None:
    """Remove a plain file; a folder or link of its name is not ours, and a file that is open on Windows stays."""
    if path.is_file() and not path.is_symlink():
        with contextlib.suppress(PermissionError):
            path.unlink(missing_ok=True)


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
