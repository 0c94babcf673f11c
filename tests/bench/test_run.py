"""Every case and sweep runs, small; what is not installed is named; the command writes what it says."""

import json
import math
import runpy
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from liquidtime.bench import bench, claims, contenders, run
from liquidtime.bench.cases import CASES, ITEMS, select
from liquidtime.bench.memory import peak_bytes
from liquidtime.bench.shape import Shape
from liquidtime.bench.sweeps import SWEEPS
from liquidtime.cli.app import app

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("case", [case for case in CASES if case.group != "memory"], ids=lambda case: case.name)
def test_case(case):
    report = bench([case.name], threads=[1], quick=True, repeats=1)
    (figures,) = report.cases
    assert set(figures.times) | set(figures.missing) == set(case.contenders)
    assert all(0 < found[1][0] < math.inf for found in figures.times.values())
    assert len(claims(report)) == len(case.targets)
    assert report.sweeps == []


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
def test_sweep(sweep):
    report = bench([sweep.name], threads=[1], quick=True, repeats=1)
    (figures,) = report.sweeps
    assert set(figures.times) | set(figures.missing) == set(sweep.models)
    assert all(list(found) == [4, 8, 16] for found in figures.times.values())


def test_sweep_sizes():
    assert SWEEPS[0].at(512) == Shape(4, 512, 16, 32, 32)
    assert SWEEPS[1].at(512) == Shape(16, 64, 16, 512, 512)


def test_a_slow_model_is_not_taken_to_larger_sizes(monkeypatch):
    monkeypatch.setattr("liquidtime.bench.sweeps.LIMIT", 0.0)
    report = bench(["sequence-T"], threads=[1], quick=True, repeats=1)
    assert all(list(found) == [4] for found in report.sweeps[0].times.values())


def test_memory_is_of_the_step_and_not_of_who_started_it():
    """The plain loop keeps at least what each step hands to the next products; nothing of this process counts."""
    ballast = torch.ones(75_000_000)  # 300 MB, which a process started from here would inherit as its peak
    shape = Shape(16, 300, 4, 32, 64)
    found = peak_bytes("reference", shape)
    kept = 4 * shape.B * shape.T * (shape.D + shape.H + shape.U + 4 * shape.H)
    assert kept < found < 8 * kept
    assert ballast[-1] == 1


def test_memory_case(monkeypatch):
    monkeypatch.setattr(run, "peak_bytes", lambda name, shape: len(name) * 1_000_000)
    report = bench(["memory"], threads=[1], quick=True)
    assert report.cases[0].peak_bytes["ncps.CfC"] == 8_000_000
    assert claims(report)[0].values == {1: 6.0}


def test_a_probe_that_fails_is_named(monkeypatch, tmp_path):
    failing = tmp_path / "python"
    failing.write_text("#!/bin/sh\necho out of memory >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(failing))
    with pytest.raises(RuntimeError, match="memory of native could not be measured: out of memory"):
        peak_bytes("native", Shape(1, 1, 1, 1))


def test_what_is_not_installed_is_named_and_left_out(monkeypatch):
    monkeypatch.setattr(contenders, "is_installed", lambda package: False)
    report = bench(["continuous", "solver-K"], threads=[1], quick=True, repeats=1)
    assert report.missing()["ncps.LTC"] == "ncps is not installed"
    assert report.missing()["ODE-RNN"] == report.missing()["rk4"] == "torchdiffeq is not installed"
    assert "native" in report.cases[0].times
    assert list(report.sweeps[0].times) == ["CfC"]
    assert {claim.reason for claim in claims(report)} == {"torchdiffeq is not installed", "ncps is not installed"}


def test_without_kernels_the_rest_is_measured(monkeypatch):
    monkeypatch.setattr(contenders.library, "is_built", lambda: False)
    report = bench(["step"], threads=[1], quick=True, repeats=1)
    assert report.missing() == {"native": "the native kernels are not built"}
    assert "reference" in report.cases[0].times


def test_bf16_is_not_measured_as_something_else(monkeypatch):
    monkeypatch.setattr(contenders.library, "is_built", lambda: True)
    for unit, reason in (("emulated", "not on this CPU"), ("avx512_bf16", None)):
        monkeypatch.setattr(contenders.library, "bf16_unit", lambda unit=unit: unit)
        assert contenders.why_missing("native bf16") == reason
    shape = Shape(2, 3, 2, 4, 5)
    assert "Bf16Linear" in repr(contenders.contender("native bf16").make(shape))
    assert "Bf16Linear" not in repr(contenders.contender("native").make(shape))


def test_what_was_measured_is_kept_when_the_rest_fails(monkeypatch, tmp_path):
    def fails(name, shape):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "peak_bytes", fails)
    CliRunner().invoke(app, ["bench", "--case", "step,memory", "--quick", "--threads", "1", "--out", str(tmp_path)])
    stored = json.loads((tmp_path / "bench.json").read_text())
    assert [case["name"] for case in stored["cases"]] == ["step"]


def test_names_and_groups():
    cases, sweeps = select(["ragged", "xor"])
    assert [case.name for case in cases] == ["xor", "ragged-xor", "ragged-walker2d", "ragged-physionet"]
    assert sweeps == []
    assert select([]) == (list(CASES), list(SWEEPS))
    names = [item.name for item in ITEMS]
    assert len(set(names)) == len(names)


def test_every_target_is_of_somebody_who_takes_part():
    for case in CASES:
        for target in case.targets:
            assert target.subject in case.contenders
            assert not target.other or target.other in case.contenders


def test_command(tmp_path):
    pytest.importorskip("matplotlib")
    arguments = ["bench", "--case", "step,step-H", "--quick", "--threads", "1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "native faster than ncps.CfC" in done.stdout
    assert "these figures say nothing about speed" in done.stdout
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "bench.json",
        "cost_step.png",
        "cost_step.svg",
    ]
    drawing = (tmp_path / "out" / "cost_step.svg").read_text()
    assert all(model in drawing for model in ("CfC", "Transformer", "hidden units H"))
    stored = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert stored["threads"] == [1]
    assert stored["versions"]["torch"] == torch.__version__
    assert stored["machine"]["cores"] >= 1


def test_command_prints_json(tmp_path):
    done = CliRunner().invoke(
        app, ["bench", "--case", "step", "--quick", "--threads", "1", "--json", "--out", str(tmp_path)]
    )
    assert json.loads(done.stdout) == json.loads((tmp_path / "bench.json").read_text())
    assert "written" in done.stderr


def test_command_lists_what_there_is():
    done = CliRunner().invoke(app, ["bench", "--list"])
    assert all(item.name in done.stdout for item in ITEMS)
    assert "native faster than ncps.CfC ≥ 20×" in done.stdout
    listed = json.loads(CliRunner().invoke(app, ["bench", "--list", "--json"]).stdout)
    assert [item["name"] for item in listed] == [item.name for item in ITEMS]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--case", "walker"], "did you mean `walker2d`"),
        (["--threads", "two"], "`threads` must be whole numbers with commas, such as 1,2; got 'two'"),
        (["--threads", "0"], "`threads` must be at least 1; got 0"),
    ],
)
def test_wrong_use_ends_in_a_line(arguments, words, tmp_path):
    done = CliRunner().invoke(app, ["bench", *arguments, "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_scripts_ask_for_what_there_is(monkeypatch, capsys):
    for name, group in (
        ("training", "training"),
        ("one_sample", "step"),
        ("whole_sequence", "sequence"),
        ("ragged", "ragged"),
        ("memory", "memory"),
        ("scaling", "scaling"),
    ):
        monkeypatch.setattr(sys, "argv", [name, "--list"])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "benchmarks" / f"{name}.py"), run_name="__main__")
        assert ended.value.code == 0
        assert sys.argv[1:4] == ["bench", "--case", group]
        cases, sweeps = select([group])
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines if line[0] != " "] == [item.name for item in (*cases, *sweeps)]
