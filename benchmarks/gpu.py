"""How long does a CfC's training step take on a GPU, beside the plain loop, nn.LSTM and torch.compile?

    python -m benchmarks.gpu --out gpu.json [--quick] [--bandwidth 2039 --tflops 19.5]

For whoever has a CUDA device: we have none, and no figure of this is in the repository. Each case is timed forward
and backward by CUDA events, least of several, after warming up. Beside it stands the roofline: the least time that the
products of the recurrence take at the device's arithmetic rate, and that its weights take from the second-level cache
at its bandwidth, both given by --tflops (float32 without tensor cores) and --bandwidth (GB/s).
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from liquidtime import CfC
from liquidtime.ops import using_backend
from liquidtime.ops.cfc_scan.triton import missing
from liquidtime.ops.cfc_scan.triton.settings import ROWS


class Shape(NamedTuple):
    """Of a batch and a network."""

    B: int
    T: int
    D: int
    H: int
    U: int


SHAPES = (
    Shape(128, 32, 1, 192, 128),
    Shape(256, 64, 17, 64, 256),
    Shape(32, 32, 8, 32, 32),
    Shape(128, 200, 111, 32, 64),
)


@dataclasses.dataclass(frozen=True)
class Bound:
    """The least time of a training step, by what bounds it.

    Args:
        arithmetic: milliseconds of all products at the device's rate.
        weights: milliseconds that the weights of the recurrence take to every program, once per step, forward and
            backward.
    """

    arithmetic: float
    weights: float

    @property
    def least(self) -> float:
        """Milliseconds under which no kernel of this design can be."""
        return max(self.arithmetic, self.weights)


def roofline(shape: Shape, tflops: float, bandwidth: float, bytes_each: int = 4) -> Bound:
    """Return what bounds a training step.

    Args:
        shape: of the batch and the network.
        tflops: 10¹² operations per second.
        bandwidth: 10⁹ bytes per second that all programs together read of the second-level cache.
        bytes_each: of a weight.
    """
    B, T, D, H, U = shape
    forward = 2 * B * T * (U * (D + H) + 4 * H * U)
    programs = -(-B // ROWS)
    read = 2 * programs * T * (U * H + 4 * H * U) * bytes_each
    return Bound(3 * forward / tflops * 1e-9, read / bandwidth * 1e-6)


def timed(step: Callable[[], object], repeats: int) -> float:
    """Return milliseconds of a training step, the least of several, by CUDA events."""
    for _ in range(3):
        step()
    event: Any = torch.cuda.Event
    times = []
    for _ in range(repeats):
        first, last = (event(enable_timing=True) for _ in range(2))
        first.record()
        step()
        last.record()
        torch.cuda.synchronize()
        times.append(float(first.elapsed_time(last)))
    return min(times)


def steps_of(shape: Shape, device: str) -> dict[str, Callable[[], object]]:
    """Return by name what takes one training step: outputs, their sum, gradients."""
    torch.manual_seed(0)
    layer = CfC(shape.D, shape.H, backbone_units=shape.U).to(device)
    lstm = torch.nn.LSTM(shape.D, shape.H, batch_first=True).to(device)
    x, dt = torch.randn(shape.B, shape.T, shape.D, device=device), torch.rand(shape.B, shape.T, device=device)

    def step(run: Callable[[], Any]) -> None:
        run()[0].sum().backward()

    def loop() -> Any:
        with using_backend("reference"):
            return layer(x, dt=dt)

    @functools.cache
    def compiled() -> Callable[[], Any]:
        return torch.compile(loop)

    ways: dict[str, Callable[[], object]] = {
        "plain loop": lambda: step(loop),
        "nn.LSTM": lambda: step(lambda: lstm(x)),
        "torch.compile of the loop": lambda: step(compiled()),
    }
    if missing() is None:
        ways = {"liquidtime (Triton)": lambda: step(lambda: layer(x, dt=dt)), **ways}
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description="A CfC's training step on a CUDA device, beside others.")
    parser.add_argument("--out", type=Path, default=Path("gpu.json"))
    parser.add_argument("--quick", action="store_true", help="the smallest case only, without torch.compile")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--bandwidth", type=float, default=2000.0, help="GB/s of the second-level cache")
    parser.add_argument("--tflops", type=float, default=19.5, help="of float32 without tensor cores")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print(f"there is no CUDA device here (torch {torch.__version__}); nothing was measured")
        return
    cases = []
    for shape in SHAPES[2:3] if arguments.quick else SHAPES:
        bound = roofline(shape, arguments.tflops, arguments.bandwidth)
        times = {}
        for name, step in steps_of(shape, "cuda").items():
            if not (arguments.quick and "compile" in name):
                times[name] = round(timed(step, arguments.repeats), 4)
        cases.append(
            {**shape._asdict(), "ms": times, "roofline_ms": {**dataclasses.asdict(bound), "least": bound.least}}
        )
        print(shape, times, bound, file=sys.stderr)
    about = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "precision": torch.get_float32_matmul_precision(),
        "bandwidth": arguments.bandwidth,
        "tflops": arguments.tflops,
    }
    arguments.out.write_text(json.dumps({**about, "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
