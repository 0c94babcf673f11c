"""A lane-keeping network: the shared head, frozen or trained along, and what turns its features into steering."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import torch
from torch import Tensor, nn

from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.fitting import Outcome, Run, Shuffled, predict, train_settings
from liquidtime.paper.lane.attention import keep_attention
from liquidtime.paper.lane.convolution import FLAT
from liquidtime.paper.lane.features import Drive, Features, features_of, judged_features, windows
from liquidtime.paper.lane.head import head_settings, inside, shared_head
from liquidtime.paper.lane.joint import train_jointly
from liquidtime.paper.lane.smoothness import variation
from liquidtime.paper.settings import Settings
from liquidtime.training import TrainingDiverged, isolated_rng, read_log, train
from liquidtime.training.artifact import tensors_to_bytes, write_file

CLEAN = ""
"""Stands for images as recorded where others are named by what was done to them."""
STRIDES = 2
"""Windows that each image of a long run is in."""


class Driver(nn.Module):
    """What turns features at irregular times into steering.

    Args:
        network: a layer of `liquidtime`, (x, dt, lengths) -> (B, T, 1) and a state; or a network of single images.

    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Sequences) -> Tensor:
        """Map sequences of features (B, T, ·) to steering (B, T, 1)."""
        if isinstance(self.network, nn.Sequential):
            return cast(Tensor, self.network(batch.x))
        y: Tensor = self.network(batch.x, dt=batch.dt, lengths=batch.lengths)[0]
        return y


@dataclass(frozen=True)
class LaneModel:
    """A row of the lane-keeping table.

    Attributes:
        name: in the names of kept files.
        title: as our tables write it.
        paper: as the paper's table writes it.
        make: settings -> the network behind the head.
        flat: whether it reads what is behind the convolutions, and not the head's 64 features.
        joint: whether the head is then trained along with it, on the images.
        kept: whether its weights are kept beside the results.

    """

    name: str
    title: str
    paper: tuple[str, ...]
    make: Callable[[Settings], nn.Module]
    flat: bool = False
    joint: bool = False
    kept: bool = False

    def driver(self, settings: Settings, seed: int) -> Driver:
        """Return the network behind the head, its weights drawn from the seed."""
        with isolated_rng(seed):
            return Driver(self.make(settings))

    def fit(self, run: Run, settings: Settings | None) -> Outcome:
        """Train on the features of the frozen head, then, if asked, on the images; judge along the whole test run."""
        if settings is None:
            raise ValueError(f"`settings` must be given for {self.title}; it has none of its own.")
        head = shared_head(run.split, run.kept, run.folder, run.progress)
        features = features_of(run.split, head)
        driver = self.driver(settings, run.seed)
        loop = train_settings(settings, run.task, run.seed, penalised=False)
        loop = dataclasses.replace(loop, patience=run.task.patience)
        T = run.split.test.dt.shape[1]
        given = windows(features.train, T, max(T // STRIDES, 1), flat=self.flat)
        held = windows(features.validation, T, T, flat=self.flat)

        def objective(model: nn.Module, batch: Sequences) -> Any:
            return run.task.loss(model(batch), batch, settings.class_weight)

        def validate(model: nn.Module) -> dict[str, float]:
            return {run.task.metric: run.task.score(run.task.target(held), predict(model, run.task, held))}

        try:
            result = train(
                driver, objective, Shuffled(given, settings.batch_size), loop,
                validate=validate, folder=run.folder / "driver", resume=True, progress=run.progress,
            )  # fmt: skip
            history, stopped = result.history, result.stopped
            best_epoch, best_metric = result.best_epoch, result.best_metric
        except TrainingDiverged:
            history, stopped = read_log(run.folder / "driver"), "diverged"
            best_epoch, best_metric = None, None
        more: dict[str, Any] = {"frozen": "convolutions" if self.flat else "convolutions and dense layer of the head"}
        if self.joint:
            head, done = train_jointly(head, driver, self.flat, run)
            features = judged_features(run.split, head)
            history, stopped, best_epoch, best_metric = done.history, done.stopped, done.best_epoch, done.best_metric
            more = {"frozen": "nothing", **keep_attention(self.name, head.convolutions, run)}
        if self.kept and run.kept is not None:
            keep_driver(driver, driver_file(run.kept, self.name, run.seed))
        weights = {"recurrent": count(driver), "head": count(head.convolutions if self.flat else head)}
        commands = self.commands(driver, features)
        return Outcome(
            torch.cat(commands[CLEAN]).double().numpy().reshape(len(run.split.test), -1),
            history,
            len(history),
            best_epoch,
            best_metric,
            stopped,
            sum(weights.values()),
            {**loop.to_dict(), "head": head_settings()},
            {"weights": weights, **judged(commands, features.test), "mse_of_mean": mean_error(run.split), **more},
        )

    def commands(self, driver: nn.Module, features: Features) -> dict[str, list[Tensor]]:
        """Return the command (T,) along each whole test run, as recorded and under each corruption, by name.

        The state is carried from a run's first image to its last. The variants of a run have the same times and are
        one batch.
        """
        variants = {CLEAN: features.test, **features.corrupted}
        found: dict[str, list[Tensor]] = {name: [] for name in variants}
        was_training = driver.training
        driver.eval()
        with torch.no_grad():
            for runs in zip(*variants.values(), strict=True):
                V, T = len(runs), len(runs[0].dt)
                x = torch.stack([run.flat if self.flat else run.features for run in runs])
                dt, y = runs[0].dt.expand(V, T), runs[0].y.expand(V, T, 1)
                batch = Sequences(x, dt, torch.full((V,), T), y, torch.full((V,), runs[0].number))
                for name, command in zip(found, driver(batch)[..., 0], strict=True):
                    found[name].append(command)
        driver.train(was_training)
        return found


def judged(commands: dict[str, list[Tensor]], runs: list[Drive]) -> dict[str, Any]:
    """Return the error under each corruption, and how restless steering is, ours and the driver's.

    Args:
        commands: (T,) along each run, by corruption.
        runs: the runs, with the driver's steering.

    """
    wrong = {
        name: torch.cat([y - run.y[:, 0] for y, run in zip(found, runs, strict=True)])
        for name, found in commands.items()
    }
    restless = {
        name: fmean(variation(y, run.dt) for y, run in zip(found, runs, strict=True))
        for name, found in commands.items()
    }
    return {
        "mse_under": {name: float(error.double().square().mean()) for name, error in wrong.items() if name != CLEAN},
        "variation": restless.pop(CLEAN),
        "variation_under": restless,
        "variation_human": fmean(variation(run.y[:, 0], run.dt) for run in runs),
    }


def mean_error(split: Split) -> float:
    """Return the error on the test part of the mean steering of the training part: what knowing nothing gives."""
    mean = split.train.y[inside(split.train)].mean()
    return float((split.test.y - mean).double().square().mean())


def count(module: nn.Module) -> int:
    """Return the number of weights."""
    return sum(parameter.numel() for parameter in module.parameters())


def dense_network(settings: Settings) -> nn.Module:
    """Return the plain network's dense layers: 1920 -> H -> H/10 -> 1, of single images."""
    H = settings.hidden_size
    narrow = max(H // 10, 1)
    return nn.Sequential(nn.Linear(FLAT, H), nn.ReLU(), nn.Linear(H, narrow), nn.ReLU(), nn.Linear(narrow, 1))


def driver_file(kept: Path, name: str, seed: int) -> Path:
    """Return where the weights behind the head are kept."""
    return kept / f"lane-{name}-seed{seed}.safetensors"


def keep_driver(driver: Driver, path: Path) -> None:
    """Write the weights behind the head."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, tensors_to_bytes(driver.network.state_dict()))
