"""`liquidtime paper` from end to end, in small."""

import json

import pytest
from typer.testing import CliRunner

from liquidtime.cli.paper import app
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.runner.runner import _data
from paper.small_runs import cheapen_all, shrink_xor


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    cheapen_all(monkeypatch)
    shrink_xor(monkeypatch)
    _data.cache_clear()
    yield
    _data.cache_clear()


def call(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


def test_list():
    text = call("list").output
    for name, experiment in EXPERIMENTS.items():
        assert f"{name}: {experiment.title}" in text
    listed = json.loads(call("list", "--json").output)
    assert set(listed) == set(EXPERIMENTS)
    assert listed["physionet"]["models"]["boosting"].startswith("gradient boosting on summaries (tuned")


def test_run_then_table(tmp_path):
    out = tmp_path / "results"
    done = call("run", "xor", "--model", "cfc", "--model", "lstm", "--seeds", 2, "--jobs", 1, "--out", out)
    assert done.output.count("accuracy") == 4
    assert sorted(path.name for path in (out / "xor").iterdir()) == [
        f"{model}-honest-seed{seed}.json" for model in ("cfc", "lstm") for seed in (0, 1)
    ]
    again = call("run", "xor", "--model", "cfc", "--seeds", 2, "--jobs", 1, "--out", out, "--json")
    records = json.loads(again.stdout)
    assert [record["key"]["seed"] for record in records] == [0, 1]
    table = call("table", "xor", "--out", out).output
    assert "| CfC | honest |" in table
    lines = json.loads(call("table", "xor", "--out", out, "--json").output)["xor"]
    assert [len(line["values"]) for line in lines] == [2, 2]
    page = tmp_path / "RESULTS.md"
    call("table", "--all", "--out", out, "--page", page)
    assert "## Bit-stream XOR, event-based" in page.read_text()


def test_tune(tmp_path):
    out = tmp_path / "results"
    text = call("tune", "xor", "--model", "lstm,gru", "--limit", 20, "--out", out).output
    assert text.count("on validation") == 4
    assert "gru: trial " in text
    found = json.loads(call("tune", "xor", "--model", "gru", "--limit", 20, "--out", out, "--json").stdout)
    assert [one["trial"] for one in found["gru"]["trials"]] == [0, 1]
    assert found["gru"]["best"] in (0, 1)
    assert "it has" in call("tune", "xor", "--model", "boosting", "--out", out, code=2).output


def test_mistakes_end_with_2_and_a_line(tmp_path, monkeypatch):
    assert "did you mean `xor`" in call("run", "xro", "--model", "cfc", "--out", tmp_path, code=2).output
    assert "did you mean `xor`" in call("table", "xro", code=2).output
    assert "give the name of an experiment, or --all" in call("table", code=2).output
    monkeypatch.delenv("LIQUIDTIME_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    missing = call("run", "imdb", "--model", "cfc", "--jobs", 1, "--out", tmp_path, "--data-dir", tmp_path, code=2)
    assert "LIQUIDTIME_DATA" in missing.output
