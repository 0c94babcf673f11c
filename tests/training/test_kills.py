from __future__ import annotations

import json
from pathlib import Path

import pytest

import processes


@pytest.mark.slow
def test_killed_runs_end_with_the_bits_of_an_undisturbed_one(tmp_path):
    """15 kills at random moments, and one before each operation of a save; SIGTERM and Ctrl-C; then on to the end."""
    script = Path(__file__).parent / "kill_run.py"
    code, out, err = processes.run(script, tmp_path, 12, timeout=300)
    assert code == 0, err
    report = json.loads(out)
    assert report["kills"] == 15
    assert report["in_save"] >= 1
    assert report["steps"][-1] > 3
    assert len(report["stages"]) == 8
    assert set(report["stages"].values()) == {9}
    assert report["asked"] == {"SIGTERM": 143, "SIGINT": 130}
    finals = report["finals"]
    assert len(finals["undisturbed"]) > 1000
    assert finals["random"] == finals["undisturbed"]
    assert finals["asked"] == finals["undisturbed"]
    assert finals["stages"] == finals["undisturbed"]
