"""The example of a client against a service."""

import csv
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from serving.servers import Service

SCRIPT = str(Path(__file__).parents[2] / "examples" / "service_client.py")


def test_the_example_sends_a_table(exported, streams, tmp_path, monkeypatch, capsys, model, data):
    samples = streams["s0"]
    with open(tmp_path / "samples.csv", "w", newline="") as file:
        table = csv.DictWriter(file, ["time", *data.channels])
        table.writeheader()
        table.writerows({"time": repr(t), **values} for t, values in samples)
    client = runpy.run_path(SCRIPT)
    with Service(exported, tmp_path / "s.db") as service:
        words = [
            SCRIPT,
            str(tmp_path / "samples.csv"),
            "--series",
            "bed 7/a",
            "--address",
            f"http://127.0.0.1:{service.port}",
        ]
        monkeypatch.setattr(sys, "argv", words)
        answer = client["main"]()
        assert len(capsys.readouterr().out.splitlines()) == len(samples)
        model.reset()
        for t, values in samples:
            wanted = model.update("x", t, values)
        np.testing.assert_allclose([answer["prediction"]["probabilities"][name] for name in "01"], wanted, atol=5e-6)
        assert client["main"]()["repeated"] == 1  # sent again it changes nothing
        with pytest.raises(ValueError, match="422: 'HR' is not a channel"):
            client["Client"](words[-1]).send("x", [{"time": 1.0, "values": {"HR": 1.0}}])
    with pytest.raises(OSError, match="refused"):
        client["Client"](words[-1], patience=0.0).ask("GET", "/health")
