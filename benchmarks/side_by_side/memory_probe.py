"""Runs one training step and prints its peak memory: `python -m benchmarks.side_by_side.memory_probe JSON`.

The peak is that of the whole process, set back to the present before the step where the system lets us. Where it does
not, a peak before the step would be counted too, and the figure is an upper bound.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from pathlib import Path

import torch

from benchmarks.side_by_side.contenders import contender
from benchmarks.side_by_side.measure import timed_training
from benchmarks.side_by_side.shape import Shape

_WARM = 32
_UNIT = 1 if sys.platform == "darwin" else 1024


def held() -> tuple[int, int]:
    """Return the most bytes this process has held, and what it holds now.

    `ru_maxrss` alone would do outside Linux only: there a new process inherits the peak of the one that started it.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
        return most, most
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    most, now = (int(lines[key].split()[0]) * 1024 for key in ("VmHWM", "VmRSS"))
    return most, now


def forget_peak() -> None:
    """Set the peak back to what is held now; on Linux only."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Measure what the command line names."""
    given = json.loads(sys.argv[1])
    shape = Shape(**given["shape"])
    entry = contender(given["name"])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    short = timed_training(entry, Shape(**given["shape"] | {"T": min(shape.T, _WARM)}))
    with short.conditions():
        short.call()  # so that imports, code and workspaces are there already
    run = timed_training(entry, shape)
    forget_peak()
    _, before = held()
    with run.conditions():
        run.call()
    print(json.dumps({"peak_bytes": held()[0] - before}))


if __name__ == "__main__":
    main()
