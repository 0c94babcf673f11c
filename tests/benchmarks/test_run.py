"""Every case and sweep runs, small; what is not installed is named; the command writes what it says."""

import importlib
import importlib.util
import json
import math
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import processes
from benchmarks import everything, side_by_side
from benchmarks.side_by_side import Questions, contenders, run
from benchmarks.side_by_side.command import application
from benchmarks.side_by_side.memory import peak_bytes
from benchmarks.side_by_side.shape import Shape
from liquidtime.cli.app import app

ROOT = Path(__file__).parents[2]
CASES, SWEEPS, ITEMS = everything.QUESTIONS.cases, everything.QUESTIONS.sweeps, everything.QUESTIONS.items
FILES = {
    "training": "training",
    "one_sample": "step",
    "whole_sequence": "sequence",
    "cells": "cells",
    "ragged": "ragged",
    "memory": "memory",
    "scaling": "scaling",
}


def bench(*arguments, **options):
    return side_by_side.bench(everything.QUESTIONS, *arguments, **options)


def claims(report):
    return side_by_side.claims(report, everything.QUESTIONS)


def call(*words):
    return CliRunner().invoke(application(everything.QUESTIONS, everything.__doc__), [str(word) for word in words])


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
    monkeypatch.setattr("benchmarks.side_by_side.sweep.LIMIT", 0.0)
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
    assert set(report.missing().values()) == {"the native kernels are not built"}
    assert {name for name in report.missing() if not name.startswith("native")} == set()
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
    call("--case", "step,memory", "--quick", "--threads", "1", "--out", tmp_path)
    stored = json.loads((tmp_path / "bench.json").read_text())
    assert [case["name"] for case in stored["cases"]] == ["step"]


def test_names_and_groups():
    chosen = everything.QUESTIONS.select(["ragged", "xor"])
    assert [case.name for case in chosen.cases] == ["xor", "ragged-xor", "ragged-walker2d", "ragged-physionet"]
    assert chosen.sweeps == ()
    assert everything.QUESTIONS.select([]) == everything.QUESTIONS
    names = [item.name for item in ITEMS]
    assert len(set(names)) == len(names)


def test_every_target_is_of_somebody_who_takes_part():
    for case in CASES:
        for target in case.targets:
            assert target.subject in case.contenders
            assert not target.other or target.other in case.contenders


def test_command(tmp_path):
    pytest.importorskip("matplotlib")
    done = call("--case", "step,step-H", "--quick", "--threads", "1", "--out", tmp_path / "out")
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
    done = call("--case", "step", "--quick", "--threads", "1", "--json", "--out", tmp_path)
    assert json.loads(done.stdout) == json.loads((tmp_path / "bench.json").read_text())
    assert "written" in done.stderr


def test_command_lists_what_there_is():
    done = call("--list")
    assert all(item.name in done.stdout for item in ITEMS)
    assert "native faster than ncps.CfC ≥ 20×" in done.stdout
    listed = json.loads(call("--list", "--json").stdout)
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
    done = call(*arguments, "--out", tmp_path)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_every_file_asks_its_own_group_and_everything_asks_all():
    asked = []
    for name, group in FILES.items():
        questions = importlib.import_module(f"benchmarks.{name}").QUESTIONS
        assert {item.group for item in questions.items} == {group}
        asked.append(questions)
    assert Questions.joined(*asked) == everything.QUESTIONS


@pytest.mark.parametrize("name", ["everything", "scaling"])
def test_files_run_as_modules(name):
    code, out, err = processes.run("-m", f"benchmarks.{name}", "--list")
    assert code == 0, err
    names = [line.split()[0] for line in out.splitlines() if line[0] != " "]
    questions = importlib.import_module(f"benchmarks.{name}").QUESTIONS
    assert names == [item.name for item in questions.items]


def test_every_file_of_the_folder_is_a_question_that_can_be_run():
    for path in (ROOT / "benchmarks").glob("*.py"):
        if path.stem not in ("__init__", "made_up_series"):  # the latter is data for made_up_forecasts
            text = path.read_text()
            assert 'if __name__ == "__main__":' in text, path.name
            assert text.startswith('"""'), path.name


def test_the_package_does_not_ship_them():
    assert importlib.util.find_spec("liquidtime.bench") is None
    assert "bench" not in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, ["bench"]).exit_code == 2
