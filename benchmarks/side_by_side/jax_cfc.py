"""The CfC as one would write it for speed elsewhere: `jax.jit` over `lax.scan`, gradients by `jax.vjp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.side_by_side.networks import Network, Ours, our_cfc, signals
from benchmarks.side_by_side.shape import Shape

TOLERANCE = 1e-4  # of float32 sums over a whole batch, beside the largest number of each array


def no_network(shape: Shape) -> Network:
    """Refuse any measurement but that of a training step."""
    raise NotImplementedError("JAX is measured in training steps only")


def training_step(shape: Shape) -> Callable[[], object]:
    """Return a forward and a backward pass of the network that `our_cfc` makes, compiled.

    XLA uses all cores that it finds, whatever the number of threads of the others.

    Raises:
        AssertionError: its outputs or gradients are not those of this package.

    """
    import jax
    import jax.numpy as jnp

    network = our_cfc(shape)
    assert isinstance(network, Ours)
    cell: Any = network.layer.cells[0]
    x, dt, _ = signals(shape)
    grad = torch.randn(shape.B, shape.T, shape.H)
    H = shape.H

    def array(tensor: Tensor) -> Any:
        return jnp.asarray(tensor.detach().numpy())

    linears = [*cell.backbone.layers, cell.heads]
    weights = [(array(part.weight).T, array(part.bias)) for part in linears]
    samples = array(x.transpose(0, 1)), array(dt.transpose(0, 1))[..., None]  # time first, as a scan takes it
    incoming = array(grad.transpose(0, 1))

    def step(weights: Any, h: Any, sample: Any) -> tuple[Any, Any]:
        x_t, dt_t = sample
        z = jnp.concatenate([x_t, h], axis=-1)
        for W, b in weights[:-1]:
            z = 1.7159 * jnp.tanh(0.666 * (z @ W + b))
        W, b = weights[-1]
        g1, g2, a, c = jnp.split(z @ W + b, 4, axis=-1)
        s = jax.nn.sigmoid(a * dt_t + c)
        h = (1 - s) * jnp.tanh(g1) + s * jnp.tanh(g2)
        return h, h

    def values_and_gradients(weights: Any, samples: Any, incoming: Any) -> tuple[Any, Any]:
        def outputs(weights: Any) -> Any:
            start = jnp.zeros((shape.B, H), incoming.dtype)
            return jax.lax.scan(lambda h, sample: step(weights, h, sample), start, samples)[1]

        y, back = jax.vjp(outputs, weights)
        return y, back(incoming)[0]

    train: Any = jax.jit(values_and_gradients)  # a decorator would have no type where JAX is not installed
    y = network.run(x, dt)
    torch.autograd.backward(y, grad)
    y_jax, grads = train(weights, samples, incoming)
    _check("outputs", y.detach().transpose(0, 1), y_jax)
    for index, (part, (of_weight, of_bias)) in enumerate(zip(linears, grads, strict=True)):
        _check(f"gradient of weight {index}", part.weight.grad.T, of_weight)
        _check(f"gradient of bias {index}", part.bias.grad, of_bias)
    ready: Any = jax.block_until_ready
    return lambda: ready(train(weights, samples, incoming))


def _check(name: str, ours: Tensor, theirs: Any) -> None:
    """Refuse to compare the times of what does not compute the same."""
    expected, found = ours.numpy(), np.asarray(theirs)
    gap = float(np.abs(expected - found).max() / max(1.0, np.abs(expected).max()))
    if not gap <= TOLERANCE:
        raise AssertionError(f"the {name} of JAX differ from ours by {gap:.1e}, more than {TOLERANCE:.0e}")
