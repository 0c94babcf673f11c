from __future__ import annotations

import math

import pytest
import torch

from liquidtime.training import TrainSettings, train
from liquidtime.training.schedule import rate_factor
from training.task import batches_of, network, objective, rows


def factors(name: str, epochs: int, steps: int, decay: float = 1.0, every: str = "step"):
    options = {"epochs": epochs, "decay": decay, "every": every}
    return [rate_factor(name, e, s, steps, **options) for e in range(epochs) for s in range(steps)]


def test_exponential_is_base_times_decay_to_the_epoch():
    assert factors("exponential", 3, 4, decay=0.7, every="epoch") == pytest.approx(
        [0.7**e for e in range(3) for _ in range(4)]
    )
    assert factors("exponential", 3, 4, decay=0.7) == pytest.approx([0.7 ** (k / 4) for k in range(12)])


def test_cosine_and_constant():
    assert factors("constant", 2, 3) == [1.0] * 6
    expected = [(1 + math.cos(math.pi * k / 40)) / 2 for k in range(40)]
    assert factors("cosine", 8, 5) == pytest.approx(expected)


def test_one_cycle_against_torch():
    """Torch spreads N steps over N − 1 intervals; on many steps both are the same curve."""
    N = 2000
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=N, cycle_momentum=False)
    theirs = []
    for _ in range(N):
        theirs.append(cycle.get_last_lr()[0])
        optimizer.step()
        cycle.step()
    ours = factors("one_cycle", 20, 100)
    assert max(abs(a - b) for a, b in zip(ours[:-1], theirs[:-1], strict=True)) < 3e-3
    assert ours[0] == pytest.approx(1 / 25)
    assert max(ours) == pytest.approx(1.0)
    assert ours.index(max(ours)) == 600
    assert rate_factor("one_cycle", 20, 0, 100, epochs=20, decay=1.0, every="step") == pytest.approx(4e-6)


def test_the_loop_uses_the_rate_and_logs_it():
    data, rates = rows(64), []
    model = network()

    class Watch(torch.optim.SGD):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    from liquidtime.training import settings as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.OPTIMIZERS, "sgd", Watch)
        settings = TrainSettings(epochs=3, optimizer="sgd", learning_rate=0.2, schedule="exponential", decay=0.9)
        result = train(model, objective, batches_of(data), settings)
    assert rates == pytest.approx([0.2 * 0.9 ** (k / 4) for k in range(12)])
    assert [record["rate"] for record in result.history] == pytest.approx([rates[3], rates[7], rates[11]])
