"""What the figures were measured on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

import liquidtime
from liquidtime.ops import live_backend
from liquidtime.ops.native import library

_PACKAGES = ("torch", "numpy", "ncps", "torchdiffeq", "matplotlib")


def machine_facts() -> dict[str, Any]:
    """Return processor, memory, system and how busy it is."""
    return {
        "processor": _processor(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "load_average": [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "system": platform.system(),
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
        "kernel_instructions": library.target() if library.is_built() else None,
        "backend": live_backend(),
    }


def versions() -> dict[str, str]:
    """Return the versions of what takes part and is installed."""
    found = {"liquidtime": liquidtime.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """Return the commit of the checkout this package is run from, with "+" behind it if files are changed."""
    here = Path(__file__).resolve()
    if _git(here, "ls-files", "--error-unmatch", here.name) is None:
        return None
    head = _git(here, "rev-parse", "HEAD")
    return None if head is None else head + ("+" if _git(here, "status", "--porcelain", "-uno") else "")


def _git(file: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=file.parent, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
