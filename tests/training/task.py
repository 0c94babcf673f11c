"""A small task with dropout and shuffled batches, so that every random source matters."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from liquidtime.training import Loss, cross_entropy


@dataclass
class Rows:
    x: Tensor
    y: Tensor
    ids: list[str]


def rows(n: int = 96, seed: int = 3) -> Rows:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 5, generator=generator)
    y = (x[:, 0] * x[:, 1] + 0.3 * x[:, 2] > 0).long()
    return Rows(x, y, [f"row{index}" for index in range(n)])


def network(seed: int = 1, dropout: float = 0.2) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Dropout(dropout), nn.Linear(16, 2))


def batches_of(data: Rows, size: int = 16):
    def batches(epoch: int, generator: torch.Generator) -> list[Rows]:
        order = torch.randperm(len(data.y), generator=generator)
        return [
            Rows(data.x[part], data.y[part], [data.ids[index] for index in part.tolist()]) for part in order.split(size)
        ]

    return batches


def objective(model: nn.Module, batch: Rows) -> Loss:
    return cross_entropy(model(batch.x), batch.y)


def validation(data: Rows):
    def validate(model: nn.Module) -> dict[str, float]:
        assert not model.training
        loss = cross_entropy(model(data.x), data.y)
        return {"loss": float(loss.total) / float(loss.weight)}

    return validate


def weights(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.state_dict().values()])


def equal_bits(left: Tensor, right: Tensor) -> bool:
    return torch.equal(left.view(torch.int32), right.view(torch.int32))
