"""How far is a compiled liquid network from its differential equation, and how much faster?

python -m benchmarks.compile_ltc --out results/compile_ltc.json --page docs/compiling.md

The network is the size of the paper's lane-keeping one: an NCP of 19 neurons and 253 synapses on 64 inputs, with
random initial parameters. Inputs are standard normal. Errors are in float64 against RK4 with 512 steps an interval.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import liquidtime as lt
from liquidtime.closed_form import AlgorithmOne, algorithm_one
from liquidtime.ops import live_backend, using_backend
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
KERNEL: dict[str, tuple[Solver, int]] = {
    "semi-implicit x 6": (SemiImplicit(), 6),
    "hold": (Hold(), 1),
    "midpoint": (Midpoint(), 1),
}
INTERVALS = (0.1, 0.5, 1.0)
BATCHES = (1, 64)
SPEEDUPS = (("speedup", "own_solver"), ("speedup_fine", "reference"))
MARK = "```text figures\n"


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
    x, dt = torch.randn(B, 32, INPUTS), torch.rand(B, 32)

    def report(method: str, repaired: bool | None = None) -> Any:
        compiled: Any = lt.compile_ltc(ltc, method, repaired=repaired, x=x, dt=dt)
        return compiled.report.to_dict()

    return {
        "paper as printed": report("paper", repaired=False),
        "paper, repaired": report("paper"),
        "hold": report("hold"),
        "midpoint": report("midpoint"),
    }


def on_both_ways(B: int, rounds: int = 10) -> dict[str, Any]:
    """Return milliseconds of every method that has a kernel, on it and in the plain loop: B series of 32 samples.

    The best of several rounds, each through all of them, so that all meet the same machine.
    """
    torch.manual_seed(0)
    x, dt = torch.randn(B, 32, INPUTS), torch.rand(B, 32)
    layers = {name: lt.LTC(INPUTS, wiring=WIRING, solver=solver, unfolds=n) for name, (solver, n) in KERNEL.items()}
    found: dict[str, Any] = {name: {} for name in KERNEL}
    for _ in range(rounds):
        for name, ltc in layers.items():
            for backend in ("native", "reference"):
                for what, training in (("inference", False), ("training", True)):
                    column = f"{what}, {backend}"
                    for _ in range(3):  # the first finds the caches full of another's numbers
                        with using_backend(backend), torch.set_grad_enabled(training):
                            start = time.perf_counter()
                            y, _ = ltc(x, dt=dt)
                            if training:
                                y.square().sum().backward()
                            ms = 1e3 * (time.perf_counter() - start)
                        found[name][column] = min(ms, found[name].get(column, math.inf))
    return found


def table(result: dict[str, Any]) -> str:
    """Return what a person reads of a result, means over the networks."""
    runs = result["seeds"]

    def mean(*keys: str) -> float:
        values: list[Any] = list(runs)
        for key in keys:
            values = [value[key] for value in values]
        return float(sum(values) / len(values))

    def by_interval(field: str, columns: tuple[float, ...]) -> list[str]:
        head = f"{'':20}" + "".join(f"{column:>10g}" for column in columns)
        rows = [f"{name:20}" + "".join(f"{mean(field, str(c), name):>10.1e}" for c in columns) for name in METHODS]
        return [head, *rows]

    lines = [
        f"{len(runs)} networks, median time constant {mean('time_constant'):.3f}, "
        f"state variance {mean('state_variance'):.3f}",
        "",
        "mean squared error of a step, interval in median time constants",
        *by_interval("mse_by_time_constants", TIME_CONSTANTS),
        "",
        "mean squared error of a step, interval dt",
        *by_interval("mse_by_dt", INTERVALS),
        "",
        "mean squared error of Algorithm 1 on recorded activity",
        *(f"{name:20}{mean('mse_recorded', name):>10.1e}" for name in ("paper as printed", "paper, repaired")),
        "",
        "order of convergence",
        *(f"{name:20}{mean('orders', name):>10.2f}" for name in ORDERS),
    ]
    for B, reports in result["speed"].items():
        lines += ["", f"{B} series of 32 samples: mean squared error of the run, speed-up over two solvers"]
        for name, report in reports.items():
            over = [f"{report[key]:.1f} over {report[of]}" for key, of in SPEEDUPS]
            lines.append(f"{name:20}{report['mse']:>10.1e}   {over[0]:30}{over[1]}")
    for B, methods in result["kernel"].items():
        columns = list(next(iter(methods.values())))
        lines += ["", f"{B} series of 32 samples: milliseconds on the kernel and in the plain loop"]
        lines.append(f"{'':20}" + "".join(f"{column:>22}" for column in columns))
        lines += [f"{name:20}" + "".join(f"{ms[c]:>22.2f}" for c in columns) for name, ms in methods.items()]
    return "\n".join(lines)


def on_page(page: str, text: str) -> str:
    """Return a page with its block of figures replaced."""
    before, mark, rest = page.partition(MARK)
    _, fence, after = rest.partition("```\n")
    if not mark or not fence:
        raise ValueError(f"`page` must have a block that starts with {MARK!r}")
    return f"{before}{MARK}{text}\n{fence}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="number of networks")
    parser.add_argument("--out", type=Path, default=Path("compile_ltc.json"), help="where the JSON goes")
    parser.add_argument("--page", type=Path, help="a page whose block of figures is replaced")
    arguments = parser.parse_args()
    with torch.no_grad():
        result = {
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "seeds": [measure(seed) for seed in range(arguments.seeds)],
            "speed": {str(B): speed(B) for B in BATCHES},
            "kernel": {str(B): on_both_ways(B) for B in BATCHES} if live_backend() == "native" else {},
        }
    print(table(result))
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    if arguments.page:
        arguments.page.write_text(on_page(arguments.page.read_text(), table(result)))


if __name__ == "__main__":
    main()
