"""What products with bf16 operands lose: a training step's results against float64."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from liquidtime.bench.networks import signals
from liquidtime.bench.shape import Shape
from liquidtime.layers import CfC


@dataclasses.dataclass(frozen=True)
class Loss:
    """Errors against float64.

    Args:
        largest: the largest error over the largest value.
        rms: the root of the mean squared error over that of the mean squared value.

    """

    largest: float
    rms: float


def precision(shape: Shape, products: str = "bf16", seed: int = 0) -> dict[str, Loss]:
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
    of_weights = [_loss(a, b) for a, b in zip(grads, right_grads, strict=True)]
    return {
        "outputs": _loss(y, right),
        "samples": _loss(dx, right_dx),
        "weights": Loss(max(loss.largest for loss in of_weights), max(loss.rms for loss in of_weights)),
    }


def _results(layer: CfC, x: Tensor, dt: Tensor, incoming: Tensor) -> list[Tensor]:
    x.requires_grad_()
    y, _ = layer(x, dt=dt)
    return [y.detach(), *torch.autograd.grad(y, [x, *layer.parameters()], incoming)]


def _loss(found: Tensor, right: Tensor) -> Loss:
    error = found.detach().double() - right
    largest, rms = error.abs().max() / right.abs().max(), (error.square().mean() / right.square().mean()).sqrt()
    return Loss(float(largest), float(rms))
