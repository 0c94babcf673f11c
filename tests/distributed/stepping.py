"""A small run that ranks share, with whatever happens to one of them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NamedTuple

import torch

from liquidtime.distributed import ranks
from liquidtime.distributed.torchrun import restarts
from liquidtime.training import Loss, TrainSettings, train
from liquidtime.training.ranks import Dropout, Share, current


class Rows(NamedTuple):
    x: torch.Tensor
    share: Share | None


def run(folder: str, event: str = "", rank: int = 1, at: int = 7, resume: bool = False) -> torch.Tensor:
    """Train for 12 steps; at one of them a rank is killed, asked to stop, or has a loss of NaN."""
    own = current()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), Dropout(0.5), torch.nn.Linear(8, 1))
    done = [0]

    def batches(epoch, generator):
        for _ in range(4):
            whole = torch.randn(5, 3, generator=generator)
            yield Rows(whole[own.rows(5)[0]], Share(own, 5) if own.world > 1 else None)

    def objective(network, batch):
        done[0] += 1
        if event and own.rank == rank and done[0] == at:
            if event == "nan":
                return Loss(network(batch.x).sum() * float("nan"), float(len(batch.x)))
            os.kill(os.getpid(), signal.Signals[event])
        error = network(batch.x).squeeze(1) - batch.x.sum(dim=1)
        return Loss(error.square().sum(), float(len(error)))

    train(
        model,
        objective,
        batches,
        TrainSettings(epochs=3, seed=3, checkpoint_every=1),
        validate=lambda network: {"loss": float(network[0].weight.detach().square().sum())},
        folder=folder,
        resume=resume,
    )
    return torch.cat([weights.detach().flatten() for weights in model.parameters()])


def killed_once(folder: str, rank: int) -> list[float]:
    """Be one of the ranks that an agent starts, of which one is killed the first time."""
    with ranks():
        torch.set_num_threads(1)
        first = restarts() == 0
        return run(folder, "SIGKILL" if first else "", rank, resume=not first).tolist()


def main(folder: str, out: str, event: str = "", resume: str = "") -> None:
    with ranks() as own:
        torch.set_num_threads(1)
        weights = run(folder, event, resume=bool(resume))
        torch.save(weights, Path(out) / f"{own.rank} of {own.world}.pt")


if __name__ == "__main__":
    main(*sys.argv[1:])
