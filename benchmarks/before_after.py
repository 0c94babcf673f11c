"""How much CPU time do small calls take, beside another checkout of this package? One run, the two in turns.

    git worktree add ../before COMMIT        # then build its kernels, as its own Makefile does
    python -m benchmarks.before_after ../before

Each checkout has a process of its own, with one thread, which repeats a case when it is asked to. Of every case the
least time of all turns counts, for what else the machine does only adds to it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LEAST = 0.01  # seconds of one repetition


def cases() -> dict[str, Callable[[], object]]:
    """Return the calls by name, with public names that old checkouts have too."""
    import torch

    import liquidtime as lt

    torch.manual_seed(0)
    ncp = lt.wirings.AutoNCP(32, 8, seed=1)

    def data(B: int, T: int, D: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(B, T, D), torch.rand(B, T)

    def step(layer: Any, D: int) -> Callable[[], object]:
        x, dt = torch.randn(1, D), torch.rand(1)
        with torch.no_grad():
            _, h = layer.step(x, None, dt)

        def call() -> object:
            with torch.no_grad():
                return layer.step(x, h, dt)

        return call

    def training(layer: Any, B: int, T: int, D: int) -> Callable[[], object]:
        x, dt = data(B, T, D)

        def call() -> None:
            layer.zero_grad(set_to_none=True)
            layer(x, dt=dt)[0].sum().backward()

        return call

    def forward(layer: Any, B: int, T: int, D: int) -> Callable[[], object]:
        x, dt = data(B, T, D)

        def call() -> object:
            with torch.no_grad():
                return layer(x, dt=dt)

        return call

    return {
        "step, CfC": step(lt.CfC(17, 64), 17),
        "step, LTC": step(lt.LTC(8, 16), 8),
        "training, B32 T32 H32": training(lt.CfC(8, 32, backbone_units=32), 32, 32, 8),
        "training, B16 T100 H19": training(lt.CfC(4, 19, backbone_units=19), 16, 100, 4),
        "training, mixed memory": training(lt.CfC(8, 32, backbone_units=32, mixed_memory=True), 32, 32, 8),
        "training, wired CfC": training(lt.CfC(8, wiring=ncp), 32, 32, 8),
        "training, LTC": training(lt.LTC(8, 16), 32, 16, 8),
        "forward, B32 T32 H32": forward(lt.CfC(8, 32, backbone_units=32), 32, 32, 8),
    }


def serve(source: Path) -> None:
    """Answer names of cases on the standard input with the seconds of one call each."""
    # An editable install may have an import hook that would bring the wrong checkout.
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
    sys.path.insert(0, str(source))
    import torch

    import liquidtime
    from liquidtime.ops import live_backend

    if not Path(liquidtime.__file__).is_relative_to(source) or live_backend() != "native":
        raise SystemExit(f"{source} has no kernels, or another checkout was imported; build it first")
    torch.set_num_threads(1)
    calls = cases()
    counts: dict[str, int] = {}
    print(json.dumps([*calls]), flush=True)
    for line in sys.stdin:
        call = calls[name := line.strip()]
        if name not in counts:
            call()
            counts[name] = max(1, round(LEAST / max(_timed(call, 3), 1e-7)))
        print(_timed(call, counts[name]), flush=True)


def _timed(call: Callable[[], object], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


class Worker(NamedTuple):
    """The process of one checkout."""

    process: subprocess.Popen[str]
    names: list[str]

    def seconds(self, name: str) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


@contextmanager
def worker(checkout: Path) -> Iterator[Worker]:
    command = [sys.executable, __file__, "--serve", str((checkout / "src").resolve())]
    environment = os.environ | {"LIQUIDTIME_BACKEND": "native", "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise SystemExit(f"the process of {checkout} ended before it began")
        yield Worker(process, json.loads(first))
        assert process.stdin is not None
        process.stdin.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", type=Path, nargs="?", help="the other checkout, its kernels built")
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--only", default="", help="a part of the names of cases")
    parser.add_argument("--out", type=Path, help="JSON file of the figures")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        serve(arguments.serve)
        return
    if arguments.before is None:
        parser.error("name the other checkout")
    with worker(arguments.before) as before, worker(ROOT) as after:
        names = [name for name in after.names if arguments.only in name]
        times = {name: ([], []) for name in names}  # type: dict[str, tuple[list[float], list[float]]]
        for _ in range(arguments.turns):
            for name in names:
                for one, seconds in zip((before, after), times[name], strict=True):
                    seconds.append(one.seconds(name))
    figures = {name: {"before": min(old), "after": min(new)} for name, (old, new) in times.items()}
    for name, best in figures.items():
        ratio = best["after"] / best["before"]
        print(f"{name:26}{1e6 * best['before']:10.1f} µs {1e6 * best['after']:10.1f} µs {ratio:7.2f}×")
    print(f"load {os.getloadavg()[0]:.1f}, one thread, CPU time, least of {arguments.turns} turns")
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({"load": os.getloadavg(), "seconds": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
