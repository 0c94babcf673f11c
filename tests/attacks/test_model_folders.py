"""Small model folders with right checksums that ask for far too much: each is refused within a second and 200 MB."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "hostile_folders.py"
FROZEN = Path(__file__).parents[1] / "estimators" / "frozen_model" / "format-2"


def test_every_hostile_folder_is_refused_cheaply(tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(FROZEN), str(tmp_path)],
        capture_output=True, text=True, timeout=120, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout)
    assert len(report) > 60
    slow = {name: facts for name, facts in report.items() if facts["seconds"] > 1.0}
    large = {name: facts for name, facts in report.items() if facts["megabytes"] > 200}
    other = {
        name: facts for name, facts in report.items()
        if facts["error"] not in ("ModelFolderError", "DamagedFolder", "FileNotFoundError")
    }  # fmt: skip
    leaks = {name: facts for name, facts in report.items() if facts["descriptors"] != 0}
    assert (slow, large, other, leaks) == ({}, {}, {}, {})
