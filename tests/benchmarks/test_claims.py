"""What follows from figures, on figures made up so that the answers are known."""

import dataclasses
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import everything
from benchmarks.side_by_side import Report, claims, conclusions, growths
from benchmarks.side_by_side.report import CaseFigures, SweepFigures
from benchmarks.side_by_side.shape import WALKER2D, XOR, Shape
from benchmarks.side_by_side.tables import tables

ROOT = Path(__file__).parents[2]
MACHINE = {"processor": "A processor", "cores": 2, "kernel_instructions": "avx2", "load_average": [0.5, 0.5, 0.5]}


@pytest.fixture
def report():
    xor = CaseFigures(
        "xor",
        XOR,
        times={
            "torch.mm": {1: [0.05, 0.04], 2: [0.02, 0.03]},
            "native": {1: [0.4, 0.36], 2: [0.2, 0.22]},
            "ncps.CfC": {1: [0.9, 0.72], 2: [0.5, 0.6]},
            "JAX": {1: [0.54], 2: [0.3]},
        },
        flops={"torch.mm": 1000, "native": 8000},
        missing={"native bf16": "not on this CPU"},
    )
    memory = CaseFigures("memory", Shape(1, 9, 1, 1), peak_bytes={"native": 72_000_000})
    ragged = CaseFigures(
        "ragged-xor", XOR, times={"native": {1: [2.0], 2: [1.0]}, "native ragged": {1: [1.5], 2: [0.6]}}
    )
    sizes = (64, 128, 256, 512)
    sweep = SweepFigures(
        "sequence-T",
        {"CfC": {n: [n * 2e-6, n * 1e-6] for n in sizes}, "Transformer": {n: [n * n * 1e-8] for n in sizes}},
        missing={"ODE-RNN": "torchdiffeq is not installed"},
    )
    solver = SweepFigures(
        "solver-K", {m: {8: [c], 16: [2 * c]} for m, c in (("euler", 1.0), ("midpoint", 1.9), ("rk4", 4.2))}
    )
    return Report(MACHINE, {"torch": "2"}, "abc", [1, 2], 2, False, [xor, memory, ragged], [sweep, solver])


def by_measure(report, beside="ncps.CfC"):
    return {
        (claim.case, claim.target.measure, claim.target.subject): claim
        for claim in claims(report, everything.QUESTIONS)
        if claim.target.measure != "speedup" or claim.target.other == beside
    }


def test_values_are_of_the_best_times(report):
    found = by_measure(report)
    assert found["xor", "speedup", "native"].values == pytest.approx({1: 2.0, 2: 2.5})
    assert found["xor", "threads", "native"].values == pytest.approx({2: 1.8})
    # 8000 operations in 0.2 s are 40,000 a second, and torch.mm does 1000 in 0.02 s, 50,000
    assert found["xor", "rate", "native"].values[2] == pytest.approx(0.8)
    assert found["ragged-xor", "time", "native ragged"].values == pytest.approx({1: 0.75, 2: 0.6})
    assert found["memory", "memory", "native"].values == pytest.approx({2: 72.0})
    assert by_measure(report, "JAX")["xor", "speedup", "native"].values == pytest.approx({1: 1.5, 2: 1.5})


def test_targets_are_judged_with_the_most_threads(report):
    found = by_measure(report)
    assert found["xor", "speedup", "native"].reached is True
    assert found["xor", "rate", "native"].reached is True
    assert found["ragged-xor", "time", "native ragged"].reached is True  # 0.75 with one thread, 0.6 with two
    assert found["memory", "memory", "native"].reached is False
    assert by_measure(report, "JAX")["xor", "speedup", "native"].reached is False  # twice as fast was asked


def test_what_was_not_measured_has_a_reason_and_no_verdict(report):
    claim = by_measure(report)["xor", "speedup", "native bf16"]
    assert (claim.values, claim.reached, claim.reason) == ({}, None, "not on this CPU")


def test_reduced_sizes_are_not_judged(report):
    report.quick = True
    assert all(claim.reached is None for claim in claims(report, everything.QUESTIONS))


def test_one_thread_alone_says_what_is_needed(report):
    report.threads = [1]
    report.cases[0].times = {name: {1: rows[1]} for name, rows in report.cases[0].times.items()}
    claim = by_measure(report)["xor", "threads", "native"]
    assert (claim.values, claim.reason) == ({}, "needs --threads 1,2")


def test_growth_stands_beside_the_papers(report):
    found = {growth.model: growth for growth in growths(report, everything.QUESTIONS) if growth.sweep == "sequence-T"}
    assert found["CfC"].exponent == pytest.approx(1.0)
    assert (found["CfC"].paper, found["Transformer"].paper) == (1, 2)
    assert found["Transformer"].exponent == pytest.approx(2.0)
    assert conclusions(report, everything.QUESTIONS)["order_costs"] == pytest.approx(
        {"euler": 1.0, "midpoint": 1.9, "rk4": 4.2}
    )


def printed(report):
    console = Console(file=io.StringIO(), width=110)
    console.print(tables(report, everything.QUESTIONS))
    return console.file.getvalue()


def test_the_table_says_it_all(report):
    rows = [" ".join(line.split()) for line in printed(report).splitlines()]
    assert "xor native faster than ncps.CfC 2× 2.5× ≥ 2× yes" in rows
    assert "native bf16 faster than ncps.CfC – – ≥ 3× not on this CPU" in rows
    assert "native, two threads faster than one – 1.8× ≥ 1.7× yes" in rows
    assert "memory native, peak MB above the inputs – 72 MB ≤ 60 MB no" in rows
    assert "ncps.CfC 720 ms 500 ms 2.5× –" in rows
    assert "left out: ODE-RNN, torchdiffeq is not installed" in rows
    assert any(row.startswith("CfC 1.00 (1)") for row in rows)


def test_json_and_back(report, tmp_path):
    file = report.save(tmp_path / "new" / "folder", conclusions(report, everything.QUESTIONS))
    stored = json.loads(file.read_text())
    again = Report.from_dict(stored)
    assert again == report
    assert printed(again) == printed(report)
    assert stored["conclusions"]["claims"][0]["reached"] is True
    with pytest.raises(ValueError, match="format 1; got 7"):
        Report.from_dict(stored | {"format": 7})


@pytest.mark.parametrize(
    "file", sorted((ROOT / "results" / "bench").rglob("bench.json")), ids=lambda file: file.parent.name
)
def test_stored_reports_are_read_and_lead_to_the_same_conclusions(file):
    stored = json.loads(file.read_text())
    again = conclusions(Report.from_dict(stored), everything.QUESTIONS)
    assert again["growth"] == stored["conclusions"]["growth"]
    assert again["order_costs"] == stored["conclusions"]["order_costs"]


def test_the_table_of_another_size_names_it(report):
    report.cases[0] = dataclasses.replace(report.cases[0], shape=WALKER2D)
    assert "B256 T64 D17 H64 U256" in printed(report)
