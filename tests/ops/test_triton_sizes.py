"""The Triton kernels compile for GPUs that are not here, within what those have: most of all shared memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from liquidtime.ops.cfc_scan.triton.settings import MOST_UNITS, SHARED, padded, sizes_of

ROOT = Path(__file__).parents[2]


def test_every_size_has_a_line_in_the_table():
    for H in range(1, MOST_UNITS + 1):
        for bf16 in (False, True):
            sizes = sizes_of(H, bf16)
            assert sizes.padded == padded(H) >= max(H, 16)
            assert min(sizes.block, sizes.part) >= 16  # the least that tensor cores take


@pytest.mark.extras
@pytest.mark.parametrize("capability", SHARED)
def test_kernels_fit(capability, tmp_path):
    pytest.importorskip("triton")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    sizes = ["16x16", "64x256", "128x128", "192x128", "256x256"]
    command = [sys.executable, "-m", "benchmarks.triton_sizes", "--capabilities", str(capability), "--sizes", *sizes]
    command += ["--out", str(tmp_path / "needs.json")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout + done.stderr
    needs = json.loads((tmp_path / "needs.json").read_text())
    assert len(needs) == len(sizes) * 3 * 2
    assert all(need["shared"] <= SHARED[capability] for need in needs)
