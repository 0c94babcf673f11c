"""What do products with bf16 operands lose?

    python -m benchmarks.precision [--out results/bench/precision.json]

The errors of a training step against float64, at the paper's sizes, with initial weights: of the outputs, and of the
gradients of the samples and the weights, in parts of their scale.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.side_by_side.networks import signals
from benchmarks.side_by_side.shape import PHYSIONET, WALKER2D, XOR, Shape
from liquidtime.layers import CfC

SHAPES = {"xor": XOR, "walker2d": WALKER2D, "physionet": PHYSIONET}


@dataclasses.dataclass(frozen=True)
class Error:
    """Errors against float64.

    Args:
        largest: the largest error over the largest value.
        rms: the root of the mean squared error over that of the mean squared value.

    """

    largest: float
    rms: float


def precision(shape: Shape, products: str = "bf16", seed: int = 0) -> dict[str, Error]:
    """Return the errors of a CfC's training step in float32 with these products, on the live backend.

    The network has its initial weights, inputs are standard normal, intervals uniform in 0…2, and the gradient of all
    outputs that the step starts from is standard normal.

    Args:
        shape: of the network and its batch.
        products: "full" or "bf16".
        seed: of all that is drawn.

    Returns:
        for the "outputs", the gradients of "samples" and "weights", of the last each of the tensor that has most.

    """
    torch.manual_seed(seed)
    layer = CfC(shape.D, shape.H, backbone_units=shape.U, backbone_layers=shape.layers, products=products)
    exact = CfC(shape.D, shape.H, backbone_units=shape.U, backbone_layers=shape.layers).double()
    exact.load_state_dict(layer.state_dict())
    x, dt, _ = signals(shape, seed)
    incoming = torch.randn(shape.B, shape.T, shape.H)
    y, dx, *grads = _results(layer, x, dt, incoming)
    right, right_dx, *right_grads = _results(exact, x.double(), dt.double(), incoming.double())
    of_weights = [_error(a, b) for a, b in zip(grads, right_grads, strict=True)]
    return {
        "outputs": _error(y, right),
        "samples": _error(dx, right_dx),
        "weights": Error(max(error.largest for error in of_weights), max(error.rms for error in of_weights)),
    }


def _results(layer: CfC, x: Tensor, dt: Tensor, incoming: Tensor) -> list[Tensor]:
    x.requires_grad_()
    y, _ = layer(x, dt=dt)
    return [y.detach(), *torch.autograd.grad(y, [x, *layer.parameters()], incoming)]


def _error(found: Tensor, right: Tensor) -> Error:
    error = found.detach().double() - right
    largest, rms = error.abs().max() / right.abs().max(), (error.square().mean() / right.square().mean()).sqrt()
    return Error(float(largest), float(rms))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    out = parser.parse_args().out
    found = {name: {kind: precision(shape, kind) for kind in ("full", "bf16")} for name, shape in SHAPES.items()}
    print("| case | products | outputs, largest and rms | gradients of samples | gradients of weights |")
    print("|---|---|---|---|---|")
    for name, kinds in found.items():
        for kind, errors in kinds.items():
            cells = [f"{error.largest:.1e}, {error.rms:.1e}" for error in errors.values()]
            print(f"| {name}, {SHAPES[name]} | {kind} | {' | '.join(cells)} |")
    if out is not None:
        figures = {
            name: {
                kind: {of: dataclasses.asdict(error) for of, error in errors.items()} for kind, errors in kinds.items()
            }
            for name, kinds in found.items()
        }
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
