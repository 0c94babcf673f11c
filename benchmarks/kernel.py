"""How fast are the kernels? Side by side in one run, best of several, as ratios; writes JSON.

    python benchmarks/kernel.py --out kernel.json [--threads 2] [--rounds 5] [--only xor,step]

The contenders of a case take turns, so that what else the machine does falls on all of them. A training step is a
forward and a backward run. Only ratios within one run mean anything.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import liquidtime as lt
from liquidtime.ops import live_backend, using_backend
from liquidtime.ops.native import library

Job = Callable[[], Any]

TRAINING = {  # B, T, D, H, U, backbone layers
    "xor": (128, 32, 1, 192, 128, 1),
    "walker": (256, 64, 17, 64, 256, 1),
    "physionet": (128, 200, 82, 256, 64, 2),
    "small": (32, 32, 8, 32, 32, 1),
    "tiny": (16, 100, 4, 19, 19, 1),
}
TARGETS = {  # what each ratio should be at least, or at most where the name says so
    "xor/ncps": 2.0,
    "walker/ncps": 2.2,
    "physionet/ncps": 2.5,
    "small/ncps": 20.0,
    "tiny/ncps": 30.0,
    "small/lstm": 1.0,
    "tiny/lstm": 1.0,
    "xor/matrix_rate": 0.75,
    "walker/matrix_rate": 0.75,
    "physionet/matrix_rate": 0.75,
    "xor/two_threads": 1.7,
    "walker/two_threads": 1.7,
    "physionet/two_threads": 1.7,
    "step/ncps": 12.0,
    "sequence/ncps": 25.0,
    "ltc/ncps": 10.0,
    "ode/ode_rnn": 60.0,
    "ode/ncps_ltc": 80.0,
    "ragged/at_most": 0.65,
    "memory_MB/at_most": 60.0,
}


clock = time.perf_counter


def take_turns(jobs: dict[str, Job], rounds: int, seconds: float) -> dict[str, float]:
    """Return the best time of each job; a slow one has fewer turns, at least one after its warm-up."""
    best: dict[str, float] = {}
    repeat: dict[str, int] = {}
    for name, job in jobs.items():
        start = clock()
        job()
        once = clock() - start
        repeat[name] = 0 if once > seconds else max(1, min(50, int(0.02 / max(once, 1e-6))))
        best[name] = once if once > seconds else float("inf")
    for _ in range(rounds):
        for name, job in jobs.items():
            for _ in range(repeat[name]):
                start = clock()
                job()
                best[name] = min(best[name], clock() - start)
    return best


def training(module: nn.Module, call: Callable[[], Tensor]) -> Job:
    def step() -> None:
        module.zero_grad()
        call().sum().backward()

    return step


def matrix_rate(rounds: int) -> float:
    """Return the operations a second of torch.mm at 1024³."""
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    return 2 * 1024**3 / take_turns({"mm": lambda: a @ b}, 3 * rounds, 60)["mm"]


def operations(B: int, T: int, D: int, H: int, U: int, layers: int) -> float:
    """Return those of a training step's products: forward, both backward, without the gradient of the input."""
    one = (D + H) * U + (layers - 1) * U * U + 4 * H * U
    return 2.0 * B * T * (3 * one - D * U)


def train_case(name: str, rounds: int) -> dict[str, Any]:
    from ncps.torch import CfC as TheirCfC

    B, T, D, H, U, layers = TRAINING[name]
    x = torch.randn(B, T, D)
    ours = lt.CfC(D, H, backbone_units=U, backbone_layers=layers)
    theirs = TheirCfC(D, H, backbone_units=U, backbone_layers=layers)
    lstm = nn.LSTM(D, H, batch_first=True)
    jobs = {
        "ours": training(ours, lambda: ours(x)[0]),
        "mm": (lambda a, b: lambda: a @ b)(torch.randn(1024, 1024), torch.randn(1024, 1024)),
        "ncps": training(theirs, lambda: theirs(x)[0]),
        "lstm": training(lstm, lambda: lstm(x)[0]),
    }
    times = take_turns(jobs, rounds, 3.0)
    rate = 2 * 1024**3 / times["mm"]
    return {
        "times": times,
        "ncps": times["ncps"] / times["ours"],
        "lstm": times["lstm"] / times["ours"],
        "matrix_rate": operations(B, T, D, H, U, layers) / times["ours"] / rate,
    }


def threads_case(name: str, rounds: int) -> dict[str, Any]:
    B, T, D, H, U, layers = TRAINING[name]
    x = torch.randn(B, T, D)
    ours = lt.CfC(D, H, backbone_units=U, backbone_layers=layers)
    step = training(ours, lambda: ours(x)[0])

    def with_threads(count: int) -> Job:
        def job() -> None:
            torch.set_num_threads(count)
            step()

        return job

    before = torch.get_num_threads()
    times = take_turns({"one": with_threads(1), "two": with_threads(2)}, rounds, 60.0)
    torch.set_num_threads(before)
    return {"times": times, "two_threads": times["one"] / times["two"]}


def step_case(rounds: int) -> dict[str, Any]:
    from ncps.torch import CfC as TheirCfC

    ours, theirs = lt.CfC(17, 64, backbone_units=128), TheirCfC(17, 64, backbone_units=128)
    x, h, h_theirs, dt = torch.randn(1, 17), torch.zeros(1, 1, 64), torch.zeros(1, 64), torch.ones(1)
    sample = x.unsqueeze(1)
    with torch.no_grad():
        jobs = {
            "ours": lambda: ours.step(x, h, dt),
            "ncps": lambda: theirs(sample, h_theirs),
            "ncps_cell": lambda: theirs.rnn_cell(x, h_theirs, 1.0),
        }
        times = take_turns(jobs, 20 * rounds, 60.0)
    return {
        "times": times,
        "ncps": times["ncps"] / times["ours"],
        "ncps_cell": times["ncps_cell"] / times["ours"],
    }


def sequence_case(rounds: int) -> dict[str, Any]:
    from ncps.torch import CfC as TheirCfC

    ours, theirs = lt.CfC(17, 64, backbone_units=128), TheirCfC(17, 64, backbone_units=128)
    x = torch.randn(1, 1000, 17)
    with torch.no_grad():
        times = take_turns({"ours": lambda: ours(x), "ncps": lambda: theirs(x)}, rounds, 60.0)
    return {"times": times, "ncps": times["ncps"] / times["ours"]}


def ltc_case(rounds: int) -> dict[str, Any]:
    from ncps.torch import LTC as TheirLTC  # noqa: N811
    from ncps.wirings import AutoNCP as TheirAutoNCP

    x = torch.randn(128, 32, 8)
    ours, theirs = lt.LTC(8, wiring=lt.wirings.AutoNCP(64, 8)), TheirLTC(8, TheirAutoNCP(64, 8))
    jobs = {"ours": training(ours, lambda: ours(x)[0]), "ncps": training(theirs, lambda: theirs(x)[0])}
    times = take_turns(jobs, rounds, 3.0)
    return {"times": times, "ncps": times["ncps"] / times["ours"]}


class OdeRnn(nn.Module):
    """A recurrent network whose state flows along a learned field between samples, solved by dopri5."""

    def __init__(self, D: int, H: int, U: int) -> None:
        super().__init__()
        self.field = nn.Sequential(nn.Linear(H, U), nn.Tanh(), nn.Linear(U, H))
        self.cell = nn.GRUCell(D, H)

    def forward(self, x: Tensor) -> Tensor:
        from torchdiffeq import odeint

        h, span, outputs = x.new_zeros(x.shape[0], self.cell.hidden_size), torch.tensor([0.0, 1.0]), []
        for k in range(x.shape[1]):
            h = odeint(lambda _, v: self.field(v), h, span, rtol=1e-3, atol=1e-4, method="dopri5")[-1]
            h = self.cell(x[:, k], h)
            outputs.append(h)
        return torch.stack(outputs, 1)


def ode_case(rounds: int) -> dict[str, Any]:
    from ncps.torch import LTC as TheirLTC  # noqa: N811
    from ncps.wirings import FullyConnected

    B, T, D, H, U = 64, 74, 74, 64, 64
    x = torch.randn(B, T, D)
    ours, ode, theirs = lt.CfC(D, H, backbone_units=U), OdeRnn(D, H, U), TheirLTC(D, FullyConnected(H))
    jobs = {
        "ours": training(ours, lambda: ours(x)[0]),
        "ode_rnn": training(ode, lambda: ode(x)),
        "ncps_ltc": training(theirs, lambda: theirs(x)[0]),
    }
    times = take_turns(jobs, rounds, 1.0)
    return {"times": times, **{name: times[name] / times["ours"] for name in ("ode_rnn", "ncps_ltc")}}


def ragged_case(rounds: int) -> dict[str, Any]:
    B, T, D, H, U, layers = TRAINING["xor"]
    x = torch.randn(B, T, D)
    lengths = torch.linspace(1, T, B).round().long()[torch.randperm(B)]
    ours = lt.CfC(D, H, backbone_units=U, backbone_layers=layers)
    jobs = {
        "dense": training(ours, lambda: ours(x)[0]),
        "ragged": training(ours, lambda: ours(x, lengths=lengths)[0]),
    }
    times = take_turns(jobs, 2 * rounds, 60.0)
    return {"times": times, "at_most": times["ragged"] / times["dense"], "mean_length": float(lengths.float().mean())}


_MEMORY = """
import re, torch, liquidtime as lt
from liquidtime.ops import set_backend
set_backend({backend!r})
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
layer = lt.CfC(17, 64, backbone_units={units})
layer(torch.randn(1, 10, 17))[0].sum().backward()
x = torch.randn(1, 20000, 17)
open("/proc/self/clear_refs", "w").write("5")
before = peak()
layer(x)[0].sum().backward()
print(peak() - before)
"""


def memory_case(rounds: int) -> dict[str, Any]:
    """Return the megabytes that a training step over 20000 samples takes above its inputs, each in its own process."""
    found = {}
    for name, backend, units in (("ours", "native", 64), ("ours_U128", "native", 128), ("loop", "reference", 64)):
        code = _MEMORY.format(backend=backend, units=units)
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        found[name] = float(run.stdout)
    return {"MB": found, "at_most": found["ours"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("kernel.json"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--cpu-time", action="store_true", help="of the process, for one thread on a busy machine")
    arguments = parser.parse_args()
    if arguments.cpu_time:
        global clock
        clock = time.process_time
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    cases: dict[str, Callable[[int], dict[str, Any]]] = {
        **{name: (lambda rounds, name=name: train_case(name, rounds)) for name in TRAINING},
        **{f"{name}_threads": (lambda r, name=name: threads_case(name, r)) for name in ("xor", "walker", "physionet")},
        "step": step_case,
        "sequence": sequence_case,
        "ltc": ltc_case,
        "ode": ode_case,
        "ragged": ragged_case,
        "memory_MB": memory_case,
    }
    chosen = arguments.only.split(",") if arguments.only else list(cases)
    results: dict[str, Any] = {
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "threads": arguments.threads,
            "clock": "cpu" if arguments.cpu_time else "wall",
            "torch": torch.__version__,
            "backend": live_backend(),
            "instructions": library.target() if library.is_built() else None,
            "matrix_rate_GFlops": matrix_rate(arguments.rounds) / 1e9,
        },
        "cases": {},
    }
    with using_backend("native"):
        for name in chosen:
            gc.collect()
            found = cases[name](arguments.rounds)
            results["cases"][name] = found
            for key, value in found.items():
                if isinstance(value, float):
                    target = TARGETS.get(f"{name.removesuffix('_threads')}/{key}")
                    wanted = "" if target is None else f"   wanted {'<=' if 'at_most' in key else '>='} {target:g}"
                    print(f"{name:18} {key:12} {value:10.2f}{wanted}", flush=True)
    results["peak_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    arguments.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
