"""The paper's two complexity tables, with exponents measured by `benchmarks/side_by_side.py --case scaling`."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from liquidtime.paper.experiments.published import PREDICTION, SOLVER_STEPS
from liquidtime.paper.pages.markdown import cells, head

NAMES = {"RNN": "nn.RNN", "ODE-RNN": "ODE-RNN", "Transformer": "Transformer", "CfC": "CfC"}
"""Models of the paper's second table, by their names in the benchmark."""
FIXED, ADAPTIVE = ("euler", "midpoint", "rk4"), "dopri5"
LEGEND = """\
Measured: exponent e of cost ∝ size^e, fitted to the larger half of the sizes, on one thread, without gradients; n
samples, k hidden units, K solver steps. Networks multiply k × k matrices, so the exponent of k rises from 0, where
function calls cost more than arithmetic, to 2; the paper counts one multiplication per unit. *p*: cost of a step
relative to an Euler step. *order*: exponent of the error over a whole interval as a function of the step length, which
is one less than that of the local error. Hypersolvers: Euler and Heun with a learned correction, from
`make bench CASE=hypersolvers`, means over three vector fields; δ is the error of the correction relative to the
residuals that it was trained on."""
ORDERED = ("euler", "rk4")
"""Solvers whose order the compiler's benchmark measures; its midpoint is another method."""


def growth(out: Path) -> dict[tuple[str, str], float]:
    """Return the exponents by sweep and model, from all reports under `bench/`; empty if there are none."""
    found: dict[tuple[str, str], float] = {}
    for report in _reports(out):
        for entry in report["conclusions"]["growth"]:
            if entry["exponent"] is not None:
                found[entry["sweep"], entry["model"]] = entry["exponent"]
    return found


def complexity_rows(out: Path) -> list[dict[str, Any]]:
    """Return one entry per line of both tables: the paper's text and our exponents; empty if nothing was measured."""
    measured = growth(out)
    if not measured:
        return []
    costs: dict[str, float] = {}
    for report in _reports(out):
        costs |= report["conclusions"]["order_costs"]
    orders = _orders(out)
    steps: dict[str, list[str]] = {
        SOLVER_STEPS[0].model: list(FIXED),
        SOLVER_STEPS[1].model: [ADAPTIVE],
        "CfC": ["CfC"],
    }
    rows: list[dict[str, Any]] = []
    hyper = _hypersolvers(out)
    for line in SOLVER_STEPS:
        if line.model in hyper:
            rows.append(
                {"table": "solver steps", "model": line.model, "paper": [line.first, line.second], **hyper[line.model]}
            )
            continue
        names = steps.get(line.model, [])
        rows.append(
            {
                "table": "solver steps",
                "model": line.model,
                "paper": [line.first, line.second],
                "exponents": {name: measured.get(("solver-K", name)) for name in names},
                "step": {name: costs[name] for name in names if name in costs},
                "orders": {name: orders[name] for name in names if name in orders},
            }
        )
    for line in PREDICTION:
        name = NAMES[line.model]
        sweeps = ("sequence-T", "sequence-H", "step-n", "step-H")
        rows.append(
            {
                "table": "prediction",
                "model": line.model,
                "paper": [line.first, line.second],
                "exponents": {sweep: measured.get((sweep, name)) for sweep in sweeps},
            }
        )
    return rows


def complexity_markdown(out: Path) -> str:
    """Return both tables; empty if nothing was measured."""
    rows = complexity_rows(out)
    if not rows:
        return ""
    text = head("method", "cost of K steps", "measured", "p", "local error", "order")
    for row in rows:
        if row["table"] == "solver steps":
            many = len(row["exponents"]) > 1
            text.append(
                cells(
                    row["model"],
                    row["paper"][0],
                    _listed({name: _power("K", value) for name, value in row["exponents"].items()}, many),
                    _listed({name: f"{value:.2f}" for name, value in row["step"].items()}, many),
                    row["paper"][1],
                    _listed(_orders_and_deltas(row), many),
                )
            )
    text += ["", *head("model", "cost of a sequence", "measured", "cost of one more sample", "measured")]
    for row in rows:
        if row["table"] == "prediction":
            e = row["exponents"]
            text.append(
                cells(
                    row["model"],
                    row["paper"][0],
                    f"{_power('n', e['sequence-T'])} {_power('k', e['sequence-H'])}",
                    row["paper"][1],
                    f"{_power('n', e['step-n'])} {_power('k', e['step-H'])}",
                )
            )
    return "\n".join([*text, "", LEGEND]) + "\n"


def _reports(out: Path) -> list[dict[str, Any]]:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((out / "bench").rglob("bench.json"))]
    return [report for report in found if not report["quick"]]


def _orders(out: Path) -> dict[str, float]:
    """Return the orders of solvers from the compiler's benchmark, as means over its networks."""
    path = out / "compile_ltc.json"
    if not path.exists():
        return {}
    runs = json.loads(path.read_text(encoding="utf-8"))["seeds"]
    return {name: fmean(run["orders"][name] for run in runs) for name in ORDERED}


def _hypersolvers(out: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Return exponents, costs, orders and δ of both hypersolvers by the paper's name; empty if none was measured."""
    path = out / "bench" / "hypersolvers.json"
    if not path.exists():
        return {}
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    found = {}
    for line, name in (("Euler hypersolver", "hyper euler"), ("p-th order hypersolver", "hyper heun")):
        found[line] = {
            "exponents": {name: fmean(run[name]["exponent"] for run in runs)},
            "step": {name: fmean(run[name]["seconds"][-1] / run["euler"]["seconds"][-1] for run in runs)},
            "orders": {name: fmean(run[name]["order"] for run in runs)},
            "deltas": {name: fmean(run["deltas"][name] for run in runs)},
        }
    return found


def _power(base: str, exponent: float | None) -> str:
    return f"{base}^?" if exponent is None else f"{base}^{exponent:.2f}"


def _orders_and_deltas(row: dict[str, Any]) -> dict[str, str]:
    deltas = row.get("deltas", {})
    return {
        name: f"{value:.2f}, δ = {deltas[name]:.2f}" if name in deltas else f"{value:.2f}"
        for name, value in row["orders"].items()
    }


def _listed(values: dict[str, str], with_names: bool) -> str:
    return ", ".join(f"{name} {value}" if with_names else value for name, value in values.items()) or "–"
