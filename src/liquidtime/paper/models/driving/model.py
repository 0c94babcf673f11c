"""A driving network: trained by the teacher, then by the teacher's commands on its own drives, and tested."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from liquidtime.files.contents import tensors_from_bytes, tensors_to_bytes
from liquidtime.files.whole_files import write_file
from liquidtime.paper.datasets import Sequences
from liquidtime.paper.datasets.car_racing import SPEED, Car, Log, Shutter, drive, start, windows
from liquidtime.paper.fitting import Outcome, Settings, Training, Trial, count_weights, fit_network, predict
from liquidtime.paper.fitting import train_settings as loop_settings
from liquidtime.paper.models.driving.attention import keep_attention
from liquidtime.paper.models.driving.batches import Windows
from liquidtime.paper.models.driving.judging import CONDITIONS, METRES, camera_of, closed_loop, drives_on, summary
from liquidtime.paper.models.driving.network import Pilot, SteeringNetwork
from liquidtime.paper.models.lane.convolution import Convolutions, Head
from liquidtime.paper.models.lane.model import LaneModel
from liquidtime.training import isolated_rng

ROUNDS = 2
"""Number of rounds in which the network drives and the teacher gives the right commands (DAgger)."""
OWN = 3
"""Number of windows of its own driving that each round adds, per training track."""


@dataclass(frozen=True)
class DrivingModel:
    """A row of the driving table.

    Attributes:
        name: name of the row, for file names.
        lane: network after the head.
        noise: whether half of the training batches are noisy.
        kept: whether the weights of seed 0 are stored with the results.
        metres: metres of each test track that are driven.

    """

    name: str
    lane: LaneModel
    noise: bool = False
    kept: bool = False
    metres: float = METRES

    @property
    def title(self) -> str:
        """Title in our tables."""
        return self.lane.title

    @property
    def paper(self) -> tuple[str, ...]:
        """Titles in the paper's table."""
        return self.lane.paper

    def network(self, settings: Settings, seed: int) -> SteeringNetwork:
        """Return the network with initial weights from the seed."""
        with isolated_rng(seed):
            eyes = Convolutions() if self.lane.flat else Head()
            return SteeringNetwork(eyes, self.lane.make(settings), settings.time_scale or 1.0)

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Train in rounds on the training tracks, then drive on the test tracks."""
        if settings is None:
            raise ValueError(f"`settings` must be given for {self.title}; it has none of its own.")
        network = self.network(settings, trial.seed)
        data, trainings, own = trial.split.train, list[Training](), list[dict[str, Any]]()
        for number in range(1 + ROUNDS):
            if number:
                logs = own_drives(network, data, number, trial.seed)
                own.append(
                    {"interventions": sum(log.interventions for log in logs), "metres": sum(log.metres for log in logs)}
                )
                data = joined(data, windows(logs, data.dt.shape[1]))
            epochs = settings.epochs if number == 0 else max(settings.epochs // 2, 1)
            loop = loop_settings(dataclasses.replace(settings, epochs=epochs), trial.task, trial.seed, penalised=False)
            trainings.append(
                fit_network(
                    network,
                    trial,
                    Windows(data, settings.batch_size, self.noise),
                    loop,
                    held_out=None,
                    folder=trial.folder / f"round{number}",
                )
            )
            if trainings[-1].stopped == "diverged":
                break
        tracks = list(dict.fromkeys(trial.split.test.ids.tolist()))
        figures: dict[str, Any] = {
            "closed_loop": closed_loop(network, tracks, trial.seed, self.metres),
            "teacher": summary(drives_on(None, tracks, 0.0, self.metres)),
            "teacher_dropped": summary(drives_on(None, tracks, CONDITIONS["dropped"].dropped, self.metres)),
            "speed": SPEED,
            "metres": self.metres,
            "own_drives": own,
            "weights": {"recurrent": count_weights(network.network), "head": count_weights(network.eyes)},
        }
        if trial.kept is not None and trial.seed == 0:
            figures |= keep_attention(self.name, network.convolutions, trial.kept, tracks)
            if self.kept:
                keep_network(network, network_file(trial.kept, self.name))
        return Outcome(
            prediction=predict(network, trial.task, trial.split.test),
            weights=count_weights(network),
            train_settings={**loop.to_dict(), "rounds": ROUNDS, "own_windows": OWN, "noise": self.noise},
            history=[record for training in trainings for record in training.history],
            epochs=sum(training.epochs for training in trainings),
            stopped=trainings[-1].stopped,
            figures=figures,
        )


def own_drives(network: SteeringNetwork, data: Sequences, number: int, seed: int) -> list[Log]:
    """Let a network drive on the training tracks, with the teacher's command at every frame; a car that leaves the road
    is put at another place, off the centre line.
    """
    tracks = list(dict.fromkeys(data.ids.tolist()))
    rngs = [np.random.default_rng([seed, number, track]) for track in tracks]
    cameras = [camera_of(track) for track in tracks]

    def put_back(car: Car, i: int) -> None:
        start(car, rngs[i], wrong=True)

    for camera, rng in zip(cameras, rngs, strict=True):
        start(camera.car, rng, wrong=True)
    shutters = [Shutter(rng) for rng in rngs]
    frames = OWN * data.dt.shape[1]
    return drive(cameras, Pilot(network), shutters, frames=frames, kept=True, taught=True, put_back=put_back)


def joined(one: Sequences, other: Sequences) -> Sequences:
    """Return the sequences of both, padded to one length."""
    names = ("x", "dt", "lengths", "y", "ids")
    return Sequences(**{name: torch.cat([getattr(one, name), getattr(other, name)]) for name in names})


def network_file(folder: Path, name: str) -> Path:
    """Return the path of the weights of a row."""
    return folder / f"driving-{name}.safetensors"


def keep_network(network: SteeringNetwork, path: Path) -> None:
    """Write the weights, rounded to float16."""
    path.parent.mkdir(parents=True, exist_ok=True)
    state = network.state_dict()
    write_file(path, tensors_to_bytes({name: v.half() if v.is_floating_point() else v for name, v in state.items()}))


def read_network(network: SteeringNetwork, path: Path) -> SteeringNetwork:
    """Load the weights of a file into a network, and return it."""
    values = tensors_from_bytes(path.read_bytes())
    state = network.state_dict()
    network.load_state_dict({name: value.to(state[name].dtype) for name, value in values.items()})
    return network.eval()
