import dataclasses

import numpy as np
import pytest
import torch

from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.fitting import PYTORCH, Outcome, Task, Trial, fit_network
from liquidtime.training import TrainSettings


def part(number):
    return Sequences(
        torch.ones(2, 3, 1), torch.ones(2, 3), torch.tensor([3, 3]), torch.tensor([0, 1]), torch.tensor([number])
    )


@pytest.fixture
def trial(tmp_path):
    split = Split(part(0), part(1), part(2))
    return Trial(task=Task("accuracy", 1, PYTORCH), split=split, honest=True, seed=0, folder=tmp_path, progress=False)


def test_fields_are_given_by_name():
    with pytest.raises(TypeError, match="positional"):
        Trial(None, None, True, 0, None)
    with pytest.raises(TypeError, match="positional"):
        Outcome(np.zeros(1), 0, {})


def test_the_part_that_chooses_the_epoch(trial):
    assert trial.held is trial.split.validation
    assert dataclasses.replace(trial, honest=False).held is None
    assert dataclasses.replace(trial, last_epoch=True).held is None
    assert trial.known == [trial.split.train, trial.split.validation]
    without = dataclasses.replace(trial, split=dataclasses.replace(trial.split, validation=None))
    with pytest.raises(ValueError, match="must have a validation part"):
        _ = without.held


class Bad(torch.nn.Module):
    """A network whose output is not finite."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, batch):
        return self.weight.expand(len(batch), 1) * torch.nan


def test_a_network_that_diverges_ends_with_what_its_log_has(trial):
    loop = TrainSettings(epochs=2, monitor="accuracy")
    batches = lambda epoch, generator: [trial.split.train]  # noqa: E731
    training = fit_network(Bad(), trial, batches, loop, held_out=None, folder=trial.folder)
    assert (training.stopped, training.best_epoch, training.epochs) == ("diverged", None, len(training.history))
