"""Peak memory of a training step above its inputs, each contender in a process of its own."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

from benchmarks.side_by_side.machine import FOLDER
from benchmarks.side_by_side.shape import Shape


def peak_bytes(name: str, shape: Shape) -> int:
    """Return the most memory that one training step of a contender held above what was there before it, in bytes.

    Raises:
        RuntimeError: the process that measured it failed; the text is what it said.

    """
    given = json.dumps({"name": name, "shape": dataclasses.asdict(shape)})
    command = [sys.executable, "-m", "benchmarks.side_by_side.memory_probe", given]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER.parent)
    if done.returncode:
        raise RuntimeError(f"the memory of {name} could not be measured: {done.stderr.strip()}")
    return int(json.loads(done.stdout)["peak_bytes"])
