"""How far is a compiled liquid network from its differential equation, and how much faster?

python benchmarks/compile_ltc.py [--seeds 5] [--out compile_ltc.json]

The network is the size of the paper's lane-keeping one: an NCP of 19 neurons and 253 synapses on 64 inputs, with
random initial parameters. Inputs are standard normal. Errors are in float64 against RK4 with 512 steps an interval.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import liquidtime as lt
from liquidtime.closed_form import AlgorithmOne, algorithm_one
from liquidtime.solvers import RK4, Euler, Hold, Midpoint, SemiImplicit, Solver

INPUTS = 64
WIRING = lt.wirings.NCP(12, 6, 1, sensory_fanout=3, inter_fanout=4, recurrent_command_synapses=7, motor_fanin=6)
FINE = 512
METHODS: dict[str, tuple[Solver, int]] = {
    "paper as printed": (AlgorithmOne(repaired=False), 1),
    "paper, repaired": (AlgorithmOne(), 1),
    "hold": (Hold(), 1),
    "midpoint": (Midpoint(), 1),
    "semi-implicit x 6": (SemiImplicit(), 6),
}
ORDERS: dict[str, tuple[Solver, tuple[int, ...]]] = {
    "euler": (Euler(), (64, 128, 256)),
    "semi-implicit": (SemiImplicit(), (64, 128, 256)),
    "rk4": (RK4(), (16, 32, 64)),
    "paper, repaired": (AlgorithmOne(), (64, 128, 256)),
    "hold": (Hold(), (64, 128, 256)),
    "midpoint": (Midpoint(), (64, 128, 256)),
}
TIME_CONSTANTS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
INTERVALS = (0.1, 0.5, 1.0)
BATCHES = (1, 64)


def mean_square(error: Tensor) -> float:
    return float(error.square().mean())


def trajectory(seed: int, B: int = 64, T: int = 10) -> tuple[Any, Tensor, Tensor]:
    """Return a cell, inputs (B, T + 1, D), and its states (B, T, H) after the first T, one unit of time each."""
    torch.manual_seed(seed)
    cell = lt.cells.LTCCell(INPUTS, wiring=WIRING).double()
    x = torch.randn(B, T + 1, INPUTS, dtype=torch.float64)
    v, states = torch.zeros(B, WIRING.units, dtype=torch.float64), []
    for k in range(T):
        v = RK4().integrate(cell.drive(x[:, k]), v, torch.ones(B, 1, dtype=torch.float64), 64)
        states.append(v)
    return cell, x, torch.stack(states, dim=1)


def measure(seed: int) -> dict[str, Any]:
    """Return the errors of one step from the trajectory's last states, the orders, and the recorded use."""
    cell, x, states = trajectory(seed)
    drive, v = cell.drive(x[:, -1]), states[:, -1]
    time_constant = float((1 / drive(v)[0]).median())

    def errors(dt: float) -> dict[str, float]:
        span = torch.full((len(v), 1), dt, dtype=torch.float64)
        exact = RK4().integrate(drive, v, span, FINE)
        return {name: mean_square(solver.integrate(drive, v, span, n) - exact) for name, (solver, n) in METHODS.items()}

    span = torch.full((len(v), 1), 2 * time_constant, dtype=torch.float64)
    exact = RK4().integrate(drive, v, span, FINE)
    orders = {}
    for name, (solver, unfolds) in ORDERS.items():
        ends = [math.sqrt(mean_square(solver.integrate(drive, v, span, n) - exact)) for n in unfolds]
        orders[name] = math.log(ends[0] / ends[-1]) / math.log(unfolds[-1] / unfolds[0])
    B, T, H = states.shape
    t = torch.arange(1, T + 1, dtype=torch.float64).expand(B, T)
    start = torch.zeros(H, dtype=torch.float64)
    recorded = {
        name: mean_square(algorithm_one(cell, x[:, :T], states, t, start, repaired=repaired) - states)
        for name, repaired in (("paper as printed", False), ("paper, repaired", True))
    }
    return {
        "seed": seed,
        "time_constant": time_constant,
        "state_variance": float(states.flatten(0, 1).var(dim=0, correction=0).mean()),
        "mse_by_time_constants": {str(n): errors(n * time_constant) for n in TIME_CONSTANTS},
        "mse_by_dt": {str(dt): errors(dt) for dt in INTERVALS},
        "mse_recorded": recorded,
        "orders": orders,
    }


def speed(B: int) -> dict[str, Any]:
    """Return the reports of every method on B series of 32 samples, dt uniform in 0…1, in float32."""
    torch.manual_seed(0)
    ltc = lt.LTC(INPUTS, wiring=WIRING)
    signal = {"x": torch.randn(B, 32, INPUTS), "dt": torch.rand(B, 32)}
    return {
        "paper as printed": lt.compile_ltc(ltc, "paper", repaired=False, **signal).report.to_dict(),
        "paper, repaired": lt.compile_ltc(ltc, "paper", **signal).report.to_dict(),
        "hold": lt.compile_ltc(ltc, "hold", **signal).report.to_dict(),
        "midpoint": lt.compile_ltc(ltc, "midpoint", **signal).report.to_dict(),
    }


def show(result: dict[str, Any]) -> None:
    runs = result["seeds"]

    def mean(*keys: str) -> float:
        values = []
        for run in runs:
            for key in keys:
                run = run[key]
            values.append(run)
        return sum(values) / len(values)

    def table(title: str, field: str, columns: tuple[float, ...]) -> None:
        print(f"\n{title}")
        print(f"{'':20}" + "".join(f"{column:>10g}" for column in columns))
        for name in METHODS:
            print(f"{name:20}" + "".join(f"{mean(field, str(column), name):>10.1e}" for column in columns))

    print(f"{len(runs)} networks, median time constant {mean('time_constant'):.3f}, "
          f"state variance {mean('state_variance'):.3f}")  # fmt: skip
    table("mean squared error of a step, interval in time constants", "mse_by_time_constants", TIME_CONSTANTS)
    table("mean squared error of a step, interval dt", "mse_by_dt", INTERVALS)
    print("\nmean squared error on recorded activity")
    for name in ("paper as printed", "paper, repaired"):
        print(f"{name:20}{mean('mse_recorded', name):>10.1e}")
    print("\norder of convergence")
    for name in ORDERS:
        print(f"{name:20}{mean('orders', name):>10.2f}")
    for B, reports in result["speed"].items():
        own, fine = (next(iter(reports.values()))[key] for key in ("own_solver", "reference"))
        print(f"\nspeed-up, {B} series of 32 samples, over {own} and over {fine}; mean squared error of the run")
        for name, report in reports.items():
            print(f"{name:20}{report['speedup']:>10.2f}{report['speedup_fine']:>10.1f}{report['mse']:>10.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="number of networks")
    parser.add_argument("--out", type=Path, default=Path("compile_ltc.json"), help="where the JSON goes")
    arguments = parser.parse_args()
    with torch.no_grad():
        seeds = [measure(seed) for seed in range(arguments.seeds)]
        result = {
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "seeds": seeds,
            "speed": {str(B): speed(B) for B in BATCHES},
        }
    show(result)
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
