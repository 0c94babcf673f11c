"""Training and predicting from disk takes no more memory for four times the series."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from liquidtime.data import SeriesSet

CODE = """
import json, sys
import numpy as np, torch
from pathlib import Path
import liquidtime as lt
torch.set_num_threads(1)
data = lt.open_set(sys.argv[1])
sizes = {"hidden_size": 4, "backbone_units": 4, "read_out_units": 4, "batch_size": 64}
model = lt.CfCClassifier(epochs=1, random_state=0, **sizes).fit(data, np.arange(len(data)) % 2)
chances = model.predict_proba(data)
text = Path("/proc/self/status").read_text()
print(json.dumps({"peak": int(text.split("VmHWM:")[1].split()[0]) / 1024, "mean": float(chances[:, 1].mean())}))
"""


def written(folder, S, T=80, C=24):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(S * T, C)).astype(np.float32)
    values[rng.random(values.shape) < 0.8] = np.nan
    times = np.tile(np.arange(T, dtype=np.float64), S)
    SeriesSet(np.arange(S + 1) * T, times, values, tuple(f"c{c}" for c in range(C))).write(folder)
    return folder


def peak(folder, megabytes):
    environment = {"OMP_NUM_THREADS": "1", "LIQUIDTIME_ENCODED_MB": megabytes}
    command = [sys.executable, "-c", CODE, str(folder)]

    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)["peak"]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_set(tmp_path):
    one, four = written(tmp_path / "one", 1500), written(tmp_path / "four", 6000)
    small, large = peak(one, "16"), peak(four, "16")
    assert large - small < 100
    kept = peak(four, "1024")  # what would grow: all series encoded are 138 MB
    assert kept - large > 70
