"""A lane-keeping network: the shared head, frozen or trained too, and a network from its features to steering."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import torch
from torch import Tensor, nn

from liquidtime.files.contents import tensors_to_bytes
from liquidtime.files.whole_files import write_file
from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.fitting import (
    Outcome,
    Settings,
    Shuffled,
    Trial,
    count_weights,
    fit_network,
    train_settings,
)
from liquidtime.paper.models.lane.attention import keep_attention
from liquidtime.paper.models.lane.features import Drive, Features, features_of, judged_features, windows
from liquidtime.paper.models.lane.head import head_settings, inside, shared_head
from liquidtime.paper.models.lane.joint import train_jointly
from liquidtime.paper.models.lane.smoothness import variation
from liquidtime.training import isolated_rng

CLEAN = ""
"""Name of images without a corruption, where others have the names of their corruptions."""
STRIDES = 2
"""Number of windows that each image of a long run is in."""


class Driver(nn.Module):
    """A network from features at irregular times to steering.

    Args:
        network: a layer of `liquidtime`, (x, dt, lengths) -> (B, T, 1) and a state; or a network of single images.
        centre: (D,) vector that is subtracted from the features of every image; None for none.

    """

    centre: Tensor | None

    def __init__(self, network: nn.Module, centre: Tensor | None = None) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("centre", centre)

    def forward(self, batch: Sequences) -> Tensor:
        """Map sequences of features (B, T, ·) to steering (B, T, 1)."""
        x = batch.x if self.centre is None else batch.x - self.centre
        if isinstance(self.network, nn.Sequential):
            return cast(Tensor, self.network(x))
        y: Tensor = self.network(x, dt=batch.dt, lengths=batch.lengths)[0]
        return y


@dataclass(frozen=True)
class LaneModel:
    """A row of the lane-keeping table.

    Attributes:
        name: name of the row, for file names.
        title: title in our tables.
        paper: titles in the paper's table.
        make: settings -> the network after the head.
        flat: whether it reads the output of the convolutions, not the 64 features of the head.
        joint: whether the head is then trained too, on the images.
        kept: whether its weights are stored with the results.

    """

    name: str
    title: str
    paper: tuple[str, ...]
    make: Callable[[Settings], nn.Module]
    flat: bool = False
    joint: bool = False
    kept: bool = False

    def driver(self, settings: Settings, seed: int, known: list[Drive] | None = None) -> Driver:
        """Return the network after the head, with initial weights from the seed.

        Args:
            settings: settings of the row.
            seed: random seed of the run.
            known: runs of the training part, whose mean features are subtracted if the settings say so.

        """
        centre = None
        if settings.centred:
            if known is None:
                raise ValueError("`known` must be given if features are centred: their mean is that of its images.")
            centre = torch.cat([run.flat if self.flat else run.features for run in known]).mean(0)
        with isolated_rng(seed):
            return Driver(self.make(settings), centre)

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Train on the features of the frozen head, then, if `joint`, on the images; test along the whole test run."""
        if settings is None:
            raise ValueError(f"`settings` must be given for {self.title}; it has none of its own.")
        head = shared_head(trial.split, trial.kept, trial.folder, trial.progress)
        features = features_of(trial.split, head)
        driver = self.driver(settings, trial.seed, features.train)
        loop = train_settings(settings, trial.task, trial.seed, penalised=False)
        loop = dataclasses.replace(loop, patience=trial.task.patience)
        T = trial.split.test.dt.shape[1]
        training = fit_network(
            driver,
            trial,
            Shuffled(windows(features.train, T, max(T // STRIDES, 1), flat=self.flat), settings.batch_size),
            loop,
            held_out=windows(features.validation, T, T, flat=self.flat),
            folder=trial.folder / "driver",
            class_weight=settings.class_weight,
        )
        more: dict[str, Any] = {"frozen": "convolutions" if self.flat else "convolutions and dense layer of the head"}
        if self.joint:
            head, training = train_jointly(head, driver, self.flat, trial)
            features = judged_features(trial.split, head)
            more = {"frozen": "nothing", **keep_attention(self.name, head.convolutions, trial)}
        if self.kept and trial.kept is not None:
            keep_driver(driver, driver_file(trial.kept, self.name, trial.seed))
        weights = {
            "recurrent": count_weights(driver),
            "head": count_weights(head.convolutions if self.flat else head),
        }
        commands = self.commands(driver, features)
        return Outcome(
            prediction=torch.cat(commands[CLEAN]).double().numpy().reshape(len(trial.split.test), -1),
            weights=sum(weights.values()),
            train_settings={**loop.to_dict(), "head": head_settings()},
            history=training.history,
            epochs=training.epochs,
            best_epoch=training.best_epoch,
            best_metric=training.best_metric,
            stopped=training.stopped,
            figures={
                "weights": weights,
                **judged(commands, features.test),
                "mse_of_mean": mean_error(trial.split),
                **more,
            },
        )

    def commands(self, driver: nn.Module, features: Features) -> dict[str, list[Tensor]]:
        """Return the command (T,) along each whole test run, as recorded and under each corruption, by name.

        The state is carried from the first image of a run to the last. The variants of a run have the same times and
        form one batch.
        """
        variants = {CLEAN: features.test, **features.corrupted}
        commands: dict[str, list[Tensor]] = {name: [] for name in variants}
        was_training = driver.training
        driver.eval()
        with torch.no_grad():
            for runs in zip(*variants.values(), strict=True):
                V, T = len(runs), len(runs[0].dt)
                x = torch.stack([run.flat if self.flat else run.features for run in runs])
                dt, y = runs[0].dt.expand(V, T), runs[0].y.expand(V, T, 1)
                batch = Sequences(x, dt, torch.full((V,), T), y, torch.full((V,), runs[0].number))
                for name, command in zip(commands, driver(batch)[..., 0], strict=True):
                    commands[name].append(command)
        driver.train(was_training)
        return commands


def judged(commands: dict[str, list[Tensor]], runs: list[Drive]) -> dict[str, Any]:
    """Return the error under each corruption, and the variation of steering, ours and the driver's.

    Args:
        commands: (T,) along each run, by corruption.
        runs: runs with the steering of the human driver.

    """
    wrong = {
        name: torch.cat([y - run.y[:, 0] for y, run in zip(course, runs, strict=True)])
        for name, course in commands.items()
    }
    restless = {
        name: fmean(variation(y, run.dt) for y, run in zip(course, runs, strict=True))
        for name, course in commands.items()
    }
    return {
        "mse_under": {name: float(error.double().square().mean()) for name, error in wrong.items() if name != CLEAN},
        "variation": restless.pop(CLEAN),
        "variation_under": restless,
        "variation_human": fmean(variation(run.y[:, 0], run.dt) for run in runs),
    }


def mean_error(split: Split) -> float:
    """Return the error of the mean steering of the training part on the test part, as a baseline."""
    mean = split.train.y[inside(split.train)].mean()
    return float((split.test.y - mean).double().square().mean())


def driver_file(folder: Path, name: str, seed: int) -> Path:
    """Return the path of the weights after the head."""
    return folder / f"lane-{name}-seed{seed}.safetensors"


def keep_driver(driver: Driver, path: Path) -> None:
    """Write the weights of the network after the head."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, tensors_to_bytes(driver.network.state_dict()))
