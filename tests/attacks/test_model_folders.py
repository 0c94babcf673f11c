"""Small model folders with right checksums that ask for far too much: each is refused within a second and 200 MB."""

import json
from pathlib import Path

import processes

SCRIPT = Path(__file__).parent / "hostile_folders.py"
FROZEN = Path(__file__).parents[1] / "estimators" / "frozen_model" / "format-2"


def test_every_hostile_folder_is_refused_cheaply(tmp_path):
    code, out, err = processes.run(SCRIPT, FROZEN, tmp_path)
    assert code == 0, err[-3000:]
    report = json.loads(out)
    assert len(report) > 60
    slow = {name: facts for name, facts in report.items() if facts["seconds"] > 1.0}
    large = {name: facts for name, facts in report.items() if facts["megabytes"] > 200}
    other = {
        name: facts for name, facts in report.items()
        if facts["error"] not in ("ModelFolderError", "DamagedFolder", "FileNotFoundError")
    }  # fmt: skip
    leaks = {name: facts for name, facts in report.items() if facts["descriptors"] != 0}
    assert (slow, large, other, leaks) == ({}, {}, {}, {})
