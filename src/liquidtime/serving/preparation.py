"""Finds or exports the folder to serve; everything that needs torch runs in a separate process."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from liquidtime._version import __version__
from liquidtime.errors import nearest
from liquidtime.serving.exported import is_exported, read_description, read_exported
from liquidtime.serving.stores import sqlite_file

_SEAL = "manifest.json"
_CACHED = 2
"""Increased when models in older caches have to be exported again."""


def default_state() -> str:
    """Return the default file for the state."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return str(folder / "liquidtime" / "serve.sqlite")


def cache_of(state: str) -> Path:
    """Return the folder for exported models: next to the state file, otherwise in the cache of the user."""
    file = sqlite_file(state)
    if file is not None:
        return file.absolute().with_name(f"{file.name}.models")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "liquidtime" / "served"


def served_folder(model: Path, cache: Path, part: str = "all", memory: int | None = None) -> Path:
    """Return the exported folder of a model: the folder itself, or one in the cache, to which it is exported once.

    Args:
        model: a model folder, or a folder of `liquidtime export --to onnx`.
        cache: folder for exported models; created if needed.
        part: for a stack, "networks", which can be exported without the other parts.
        memory: for a forecaster, number of stored values per channel; None for the usual number.

    Raises:
        FileNotFoundError: the folder does not exist.
        ValueError: it is neither, or its model cannot be exported; the message says why.

    """
    if not model.is_dir():
        siblings = [item.name for item in model.parent.iterdir() if item.is_dir()] if model.parent.is_dir() else []
        raise FileNotFoundError(f"there is no model folder {str(model)!r}{nearest(model.name, siblings)}")
    if is_exported(model):
        for option, other in (("--part", part != "all"), ("--memory", memory is not None)):
            if other:
                raise ValueError(f"{option} applies only to a model folder; this model is already exported")
        return model
    seal = model / _SEAL
    if not seal.is_file() or not (model / "config.json").is_file():
        raise ValueError(f"{model} is neither a model folder nor one that `liquidtime export --to onnx` wrote")
    with open(seal, "rb") as file:
        digest = hashlib.sha256(f"{__version__} {part} {memory} {_CACHED} ".encode() + file.read(1 << 16)).hexdigest()[
            :32
        ]
    exported = cache / digest
    if not _is_good(exported):
        cache.mkdir(parents=True, exist_ok=True)
        _export(model, exported, part, memory)
    return exported


def _is_good(exported: Path) -> bool:
    """Return whether a folder of the cache can be served."""
    try:
        read_description(read_exported(exported)["model.json"], exported)
    except ValueError:
        return False
    return True


def _export(model: Path, exported: Path, part: str, memory: int | None) -> None:
    """Export a model under a temporary name, then move it to its place unless another process was faster."""
    with tempfile.TemporaryDirectory(prefix=".new-", dir=exported.parent) as own:
        words = ["export", str(model.absolute()), "--to", "onnx", "--out", str(Path(own) / "model"), "--part", part]
        words += [] if memory is None else ["--memory", str(memory)]
        done = subprocess.run([sys.executable, "-m", "liquidtime", *words], capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
            reason = lines[-1].removeprefix("error: ") if lines else done.stderr.strip()[-2000:]
            reason, _, instead = reason.partition(" Run: ")
            if instead:
                reason += f" Run: {shlex.join(['liquidtime', 'serve', str(model), '--part', 'networks'])}"
            raise ValueError(f"{model} cannot be served: {reason}")
        with contextlib.suppress(OSError):  # another process has already put it there
            if exported.exists() and not _is_good(exported):
                exported.rename(Path(own) / "damaged")
            (Path(own) / "model").rename(exported)
    if not _is_good(exported):
        raise ValueError(f"{exported} is in the way of the exported model; remove it")
