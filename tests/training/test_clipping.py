from __future__ import annotations

import numpy as np
import pytest
import torch

from liquidtime.training import TrainSettings, train
from liquidtime.training.clipping import clip_each, clip_global
from training.task import network, objective, rows


def gradients() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    sizes_and_scales = [((3, 4), 5.0), ((7,), 0.01), ((2, 2, 2), 1.0), ((1,), 0.0)]
    return [scale * torch.randn(size, generator=generator, dtype=torch.float64) for size, scale in sizes_and_scales]


@pytest.mark.parametrize("limit", [0.5, 3.0, 1e9])
def test_each_variable_on_its_own_norm(limit):
    given = [g.numpy().copy() for g in gradients()]
    clipped = gradients()
    clip_each(clipped, limit)
    for before, after in zip(given, clipped, strict=True):
        norm = np.sqrt((before**2).sum())
        expected = before * limit / norm if norm > limit else before
        np.testing.assert_allclose(after.numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize("limit", [0.5, 3.0, 1e9])
def test_all_variables_together(limit):
    given = [g.numpy().copy() for g in gradients()]
    clipped = gradients()
    clip_global(clipped, limit)
    norm = np.sqrt(sum((g**2).sum() for g in given))
    for before, after in zip(given, clipped, strict=True):
        np.testing.assert_allclose(after.numpy(), before * min(1.0, limit / norm), rtol=1e-14)


@pytest.mark.parametrize("kind", ["each", "global"])
def test_the_loop_moves_by_the_clipped_gradient(kind):
    data, model = rows(16), network(dropout=0.0)
    before = [p.detach().clone() for p in model.parameters()]
    settings = TrainSettings(epochs=1, optimizer="sgd", learning_rate=1.0, clip_norm=1e-3, clip=kind)
    train(model, objective, lambda epoch, generator: [data], settings)
    moved = [float((p.detach() - b).norm()) for p, b in zip(model.parameters(), before, strict=True)]
    if kind == "each":
        assert moved == pytest.approx([1e-3] * 4, rel=1e-2)
    else:
        assert np.sqrt(sum(m**2 for m in moved)) == pytest.approx(1e-3, rel=1e-2)


def test_no_clipping_by_default():
    data, model = rows(16), network(dropout=0.0)
    loss = objective(model, data)
    expected = torch.autograd.grad(loss.total / loss.weight, list(model.parameters()))
    before = [p.detach().clone() for p in model.parameters()]
    train(
        model,
        objective,
        lambda epoch, generator: [data],
        TrainSettings(epochs=1, optimizer="sgd", learning_rate=1.0),
    )
    for p, b, g in zip(model.parameters(), before, expected, strict=True):
        torch.testing.assert_close(b - p.detach(), g, rtol=1e-3, atol=1e-6)
