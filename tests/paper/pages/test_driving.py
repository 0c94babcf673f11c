"""The table of driving is made from files alone."""

import numpy as np
import pytest

from liquidtime.paper.models.driving.judging import CONDITIONS
from liquidtime.paper.pages.driving import rate
from liquidtime.paper.pages.sections import SECTIONS
from liquidtime.paper.runner.results import Key, write_result


def loop(*counts):
    return {
        "kilometres": 0.5 * len(counts), "interventions": sum(counts), "lateral": 0.25, "variation": 1.5,
        "per_kilometre": 2 * sum(counts) / len(counts),
        "tracks": {"seed": list(range(len(counts))), "kilometres": [0.5] * len(counts), "interventions": list(counts)},
    }  # fmt: skip


def put(out, model, seed, *counts, limit=None, stopped="finished"):
    key = Key("driving", model, "honest", seed, None, limit)
    figures = {
        "test": {"metric": "mse", "value": 0.002, "low": 0.001, "high": 0.003, "level": 0.95},
        "closed_loop": dict.fromkeys(CONDITIONS, loop(*counts)),
        "teacher": loop(0, 0), "teacher_dropped": loop(1, 2), "speed": 40.0, "metres": 500.0,
    }  # fmt: skip
    write_result(key.file(out), {"key": vars(key), "figures": figures, "stopped": stopped, "weights": 230_828})


def row(text, title):
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {title} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_table(tmp_path):
    assert SECTIONS["driving"].markdown(tmp_path) == ""
    put(tmp_path, "cfc", 0, 1, 0)
    put(tmp_path, "cfc", 1, 3, 0, stopped="diverged")
    put(tmp_path, "cfc", 2, 9, 9, limit=3)
    put(tmp_path, "lstm_noise", 0, 0, 0)
    text = SECTIONS["driving"].markdown(tmp_path)
    cfc = row(text, "CfC")
    assert cfc[1:3] == ["230,828", "2 (1 diverged)"]
    assert cfc[3].startswith("2.00 (0.00…")
    assert cfc[8] == "500 m"
    assert cfc[-2:] == ["2.00", "–"]
    lstm = row(text, "LSTM (trained with noise)")
    assert lstm[3] == "0.00 (0.00…3.69)"
    assert lstm[8] == "over 5,000 m"
    assert "at 40 m/s" in text
    assert "it has 3.00 interventions per kilometre" in text


def test_interval_of_a_rate():
    value, low, high = rate([loop(2, 0, 2, 0), loop(2, 0, 2, 0)])
    assert value == 2.0
    assert low < 2.0 < high
    assert rate([loop(1, 1, 1)]) == (2.0, 2.0, 2.0)
    assert rate([loop(0, 0)])[2] == pytest.approx(-np.log(0.025))
