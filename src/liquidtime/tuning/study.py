"""The study: where Optuna stores trials, who may continue it, and what happens to trials of dead workers."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import sqlite3
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FINGERPRINT, PROCESS, ENDED, SURPLUS = "fingerprint", "process", "ended", "surplus"
"""Marks of a study and its trials: a trial with `ENDED` has diverged and counts, one with `SURPLUS` was superfluous."""
_BEAT, _GRACE = 20, 90
"""Seconds between two heartbeats of a trial, and without one until it is considered dead."""
_PATIENCE, _TRIES = 10, 10
"""Seconds until a database is considered unreachable, and attempts to open one whose tables are being created."""
_NETWORK_DISKS = ("nfs", "cifs", "smb", "afs", "ceph", "lustre", "gluster", "fuse.sshfs", "9p", "beegfs", "gpfs")


def optuna_or_refuse() -> Any:
    """Return the package, or an error that says how to install it."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError("a search needs Optuna: pip install 'liquidtime[search]'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def open_storage(url: str | None) -> Any:
    """Return the storage of a study; None stores it in memory.

    Args:
        url: "sqlite:///search.db", "postgresql://user@host/name", or another URL for SQLAlchemy.

    Raises:
        ValueError: SQLite on a network disk, or in a folder that does not exist.
        ConnectionError: the database cannot be reached.

    """
    optuna = optuna_or_refuse()
    if url is None:
        return optuna.storages.InMemoryStorage()
    if "://" not in url:
        raise ValueError(f"`storage` must be a URL such as sqlite:///search.db or postgresql://host/name; got {url!r}")
    if url.startswith("sqlite:"):
        _check_sqlite(url)
    import sqlalchemy

    try:
        return _opened(optuna, url)
    except (sqlalchemy.exc.ArgumentError, sqlalchemy.exc.NoSuchModuleError) as error:
        raise ValueError(
            f"`storage` {without_password(url)!r} is not a database that SQLAlchemy knows: {error}"
        ) from error
    except sqlalchemy.exc.SQLAlchemyError as error:
        raise ConnectionError(f"`storage` {without_password(url)} cannot be opened: {_reason(error)}") from error


@contextlib.contextmanager
def failures_named(url: str | None) -> Iterator[None]:
    """Raise errors of the database inside a `with` as a ConnectionError that names the storage of the study."""
    import sqlalchemy

    try:
        yield
    except (sqlalchemy.exc.SQLAlchemyError, optuna_or_refuse().exceptions.StorageInternalError) as error:
        raise ConnectionError(
            f"`storage` {without_password(url or 'in memory')} failed during the search: {_reason(error)}. Trials that "
            "have ended are in it; when it can be reached again, the same call continues the search."
        ) from error


def _reason(error: Exception) -> str:
    """Return the first line of what the database said."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return str(getattr(cause, "orig", None) or cause).strip().split("\n")[0]


def _opened(optuna: Any, url: str) -> Any:
    """Return the storage; if another process is just creating the tables of the same database, try again."""
    import sqlalchemy

    engine: dict[str, Any] = {"connect_args": {"timeout": 60}} if url.startswith("sqlite:") else {}
    if url.startswith("postgresql://"):
        url = f"postgresql+psycopg://{url.removeprefix('postgresql://')}"
        engine = {"connect_args": {"connect_timeout": _PATIENCE}, "poolclass": sqlalchemy.pool.NullPool}
        if importlib.util.find_spec("psycopg") is None:
            raise ImportError("a search in PostgreSQL needs psycopg: pip install 'liquidtime[search]'")
    for turn in range(_TRIES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                return optuna.storages.RDBStorage(
                    url, engine_kwargs=engine, heartbeat_interval=_BEAT, grace_period=_GRACE
                )
        except (sqlalchemy.exc.IntegrityError, sqlalchemy.exc.ProgrammingError, AssertionError):
            if turn + 1 == _TRIES:
                raise
            time.sleep(0.2 * (turn + 1))
    raise AssertionError("not reached")


def without_password(url: str) -> str:
    """Return a URL without its password, for messages."""
    head, at, tail = url.rpartition("@")
    if not at:
        return url
    scheme, _, user = head.partition("://")
    return f"{scheme}://{user.partition(':')[0]}@{tail}"


def open_study(storage: Any, name: str, seed: int, prune: bool, fingerprint: str) -> Any:
    """Return the study, creating it if needed; call it before workers start, since two that create one would conflict.

    Args:
        storage: result of `open_storage`.
        name: name of the study.
        seed: random seed.
        prune: whether trials that fall behind are stopped.
        fingerprint: sha256 of data, settings and space.

    Raises:
        ValueError: a study of this name was made with other data, other settings or another space, or by another
            program.

    """
    optuna = optuna_or_refuse()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study(
            storage=storage,
            study_name=name,
            direction="minimize",
            load_if_exists=True,
            sampler=sampler_of(seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=3)
            if prune
            else optuna.pruners.NopPruner(),
        )
    stored = study.user_attrs.get(FINGERPRINT)
    minimized = study.directions == [optuna.study.StudyDirection.MINIMIZE]
    if not minimized or (stored is None and study.get_trials(deepcopy=False)):
        raise ValueError(f"the study {name!r} was made by another program. Choose another `name`.")
    if stored is not None and stored != fingerprint:
        raise ValueError(
            f"the study {name!r} was made with other data, other settings or another space. Use the same ones to "
            "continue it, or choose another `name`."
        )
    study.set_user_attr(FINGERPRINT, fingerprint)
    return study


def sampler_of(seed: int) -> Any:
    """Return a sampler; samplers with different seeds are independent."""
    optuna = optuna_or_refuse()
    return optuna.samplers.TPESampler(seed=seed % 2**32, n_startup_trials=10)


def claim(trial: Any) -> None:
    """Record which process runs a trial."""
    trial.set_user_attr(PROCESS, f"{socket.gethostname()}:{os.getpid()}")


def bury_dead(study: Any) -> list[int]:
    """Mark trials of this machine whose process is gone as failed; return their numbers.

    Those of other machines are detected by missing heartbeats when the next trial starts.
    """
    optuna, dead = optuna_or_refuse(), []
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        host, _, pid = str(trial.user_attrs.get(PROCESS, "")).rpartition(":")
        if host == socket.gethostname() and pid.isdecimal() and not _lives(int(pid)):
            with contextlib.suppress(optuna.exceptions.UpdateFinishedTrialError, ValueError):  # another was faster
                study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
                dead.append(trial.number)
    return dead


def counted(study: Any) -> list[Any]:
    """Return the trials that count: finished ones, and running ones, here or elsewhere."""
    optuna = optuna_or_refuse()
    states = optuna.trial.TrialState
    kept = (states.COMPLETE, states.PRUNED, states.RUNNING)
    return [one for one in study.get_trials(deepcopy=False) if one.state in kept or one.user_attrs.get(ENDED)]


def done(study: Any) -> int:
    """Return the number of trials that count."""
    return len(counted(study))


def is_surplus(study: Any, number: int, trials: int) -> bool:
    """Return whether there are enough trials without this one, which was started at the same time as others."""
    return bool(sum(one.number < number for one in counted(study)) >= trials)


def at_work(study: Any) -> int:
    """Return the number of trials that other processes run; those without heartbeats are marked as failed."""
    optuna = optuna_or_refuse()
    bury_dead(study)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)
    return len(study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)))


def _lives(pid: int) -> bool:
    if pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def _check_sqlite(url: str) -> None:
    path = Path(url.partition("///")[2].partition("?")[0]).absolute()
    if not path.parent.is_dir():
        raise ValueError(f"`storage` {url} must be in a folder that exists; there is no {path.parent}")
    _check_file(path, url)
    kind = _disk_of(path)
    if kind.startswith(_NETWORK_DISKS):
        raise ValueError(
            f"`storage` {url} is on a network disk ({kind}), where SQLite loses trials. Put it on a local disk, or "
            "use postgresql://…"
        )


def _check_file(path: Path, url: str) -> None:
    """Refuse a file that is not a database of Optuna: tables would be added to those of another program."""
    if not path.exists():
        return
    if not path.is_file():
        raise ValueError(f"`storage` {url} is a folder or a device; choose a file")
    if path.stat().st_size == 0:
        return
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=60)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.OperationalError as error:  # locked
        raise ConnectionError(f"`storage` {url} cannot be opened: {error}") from error
    except sqlite3.DatabaseError as error:
        raise ValueError(
            f"`storage` {url} cannot be read as an SQLite database ({error}); choose another file"
        ) from error
    if tables and not tables >= {"studies", "trials", "version_info"}:
        raise ValueError(f"`storage` {url} is a database of another program; choose another file")


def _disk_of(path: Path) -> str:
    """Return the type of the file system of a path; "" if unknown."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    place = path.resolve()
    around = [(len(point), kind) for point, kind in mounts if place.is_relative_to(point.replace("\\040", " "))]
    return max(around)[1] if around else ""
