"""Two checkouts are measured in turns, each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from liquidtime.ops.native import library

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")
def test_a_checkout_beside_itself_and_beside_none(tmp_path):
    command = [sys.executable, "-m", "benchmarks.before_after", "--turns", "1", "--only", "step, CfC"]
    done = subprocess.run(
        [*command, str(ROOT), "--out", str(tmp_path / "figures.json")], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("step, CfC")
    figures = json.loads((tmp_path / "figures.json").read_text())["seconds"]
    assert [*figures] == ["step, CfC"]
    assert all(seconds > 0 for seconds in figures["step, CfC"].values())
    (tmp_path / "src").mkdir()
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert "ended before it began" in done.stderr
