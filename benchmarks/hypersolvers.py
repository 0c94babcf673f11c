"""What do hypersolvers cost and gain beside their base methods: the rows of the paper's complexity table?

    python -m benchmarks.hypersolvers --out results/bench

Each method solves the same intervals of a vector field (a tanh network of 8 states) in K steps. Cost is process time of
one thread, best of several; error is at the end of the interval, against RK4 with many steps.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from liquidtime._provenance import commit
from liquidtime.solvers import RK4, Euler, Flow, Heun, Solver, learned_correction

STATES, UNITS, BATCH = 8, 64, 64
STEPS = (8, 16, 32, 64, 128)
END = 2.0
LEARNED_AT = END / 16


def field(seed: int) -> torch.nn.Module:
    """Return dx/dt as a network; scaled so that an interval bends the path."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        inner, outer = torch.nn.Linear(STATES, UNITS), torch.nn.Linear(UNITS, STATES)
        with torch.no_grad():
            inner.weight.mul_(2.0)
            outer.weight.mul_(3.0)
    return torch.nn.Sequential(inner, torch.nn.Tanh(), outer).double().requires_grad_(False)


def measured(solver: Solver, flow: Flow, x: torch.Tensor, end: torch.Tensor, repeats: int) -> dict[str, list[float]]:
    """Return seconds and errors by number of steps."""
    dt = torch.full((len(x), 1), END, dtype=x.dtype)
    seconds, errors = [], []
    for steps in STEPS:
        times = []
        for _ in range(repeats):
            before = time.process_time()
            found = solver.integrate(flow, x, dt, steps)
            times.append(time.process_time() - before)
        seconds.append(min(times))
        errors.append(float((found - end).norm() / len(x) ** 0.5))
    return {"seconds": seconds, "errors": errors}


def power(sizes: tuple[int, ...], values: list[float]) -> float:
    """Return e of values ∝ size^e over the larger half of the sizes."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(values[half:]), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder of the JSON file")
    parser.add_argument("--seeds", type=int, default=3, help="number of vector fields")
    parser.add_argument("--repeats", type=int, default=7, help="of each timed run")
    parser.add_argument("--iterations", type=int, default=2000, help="of the training of a correction")
    options = parser.parse_args()
    torch.set_num_threads(1)
    runs = []
    for seed in range(options.seeds):
        net = field(seed)
        flow = Flow(net, net.parameters)
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(BATCH, STATES, generator=generator, dtype=torch.float64)
        start = torch.randn(512, STATES, generator=generator, dtype=torch.float64)
        path = [start]
        for _ in range(3):  # learn where the paths go, not where they start alone
            path.append(RK4().integrate(flow, path[-1], torch.full((512, 1), END / 3, dtype=x.dtype), 32))
        states = torch.cat(path)
        end = RK4().integrate(flow, x, torch.full((BATCH, 1), END, dtype=x.dtype), 2048)
        methods: dict[str, Solver] = {"euler": Euler(), "heun": Heun(), "rk4": RK4()}
        deltas = {}
        for name in ("euler", "heun"):
            methods[f"hyper {name}"], deltas[f"hyper {name}"] = learned_correction(
                net, methods[name], states, LEARNED_AT, iterations=options.iterations, seed=seed
            )
        runs.append({"seed": seed, "deltas": deltas})
        for name, solver in methods.items():
            figures = measured(solver, flow, x, end, options.repeats)
            runs[-1][name] = {
                **figures,
                "exponent": power(STEPS, figures["seconds"]),
                "order": -power(STEPS, figures["errors"]),
            }
        print(f"field {seed}: δ " + ", ".join(f"{name} {value:.3f}" for name, value in deltas.items()))
    options.out.mkdir(parents=True, exist_ok=True)
    report = {"steps": STEPS, "learned_at": LEARNED_AT, "threads": 1, "commit": commit(), "runs": runs}
    file = options.out / "hypersolvers.json"
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(file)


if __name__ == "__main__":
    main()
