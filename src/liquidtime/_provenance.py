"""Circumstances besides settings that a result may depend on: versions, the commit, the machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from liquidtime._version import __version__

PACKAGES = ("torch", "numpy", "scikit-learn")
"""Packages that compute the numbers of a model."""


def versions(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Return the versions of this package, of Python and of the installed packages, by name."""
    known = {"liquidtime": __version__, "python": platform.python_version()}
    for package in packages:
        try:
            known[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return known


def commit(*folders: Path) -> str | None:
    """Return the commit of the checkout from which this package runs; None if it does not run from one.

    Args:
        *folders: a "+" is added if tracked files of the package or in these folders differ from the commit.

    """
    package = Path(__file__).resolve().parent
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None  # installed inside the checkout of another project
    head = _git(package, "rev-parse", "HEAD")
    if head is None:
        return None
    changed = _git(package, "status", "--porcelain", "--untracked-files=no", "--", *map(str, (package, *folders)))
    return f"{head}+" if changed else head


def machine() -> dict[str, Any]:
    """Return the kind of processor and the number of its cores."""
    return {"machine": platform.machine(), "cores": os.cpu_count()}


def processor() -> str:
    """Return the name of the processor."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
