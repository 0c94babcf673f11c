"""The interval of a run is over what is independent, and says what was seen in training."""

import dataclasses

import numpy as np
import pytest
import torch

from liquidtime.paper.datasets import Sequences, Split, recall_split, xor_split
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.fitting import Outcome
from liquidtime.paper.runner.scoring import occurs, reported


def outcome(prediction):
    return Outcome(prediction=np.asarray(prediction, dtype=np.float64), weights=0, train_settings={})


def windows(rollouts, copies):
    """Return windows of rollouts, all of one rollout the same: there is no more in them than one of each."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randn(rollouts, 1, 1, generator=generator).repeat_interleave(copies, dim=0)
    count = len(y)
    lengths = torch.ones(count, dtype=torch.int64)
    ids = torch.arange(rollouts).repeat_interleave(copies)
    return Sequences(torch.rand(count, 1, 1, generator=generator), torch.ones(count, 1), lengths, y, ids)


def test_windows_of_a_rollout_are_resampled_together():
    task = dataclasses.replace(EXPERIMENTS["walker2d"].task, outputs=1)
    alone, many = windows(30, 1), windows(30, 16)
    figures = [
        reported(task, Split(windows(3, 1), None, part), outcome(np.zeros((len(part), 1))))["test"]
        for part in (alone, many)
    ]
    assert "clusters" not in figures[0]
    assert figures[1]["clusters"] == 30
    width = [figure["high"] - figure["low"] for figure in figures]
    assert width[1] == pytest.approx(width[0], rel=0.15)


def test_all_right_has_an_exact_lower_end():
    split = recall_split(delay=3, size=50, test_size=200)
    certain = np.eye(2)[split.test.y.numpy()]
    test = reported(EXPERIMENTS["gradients"].task, split, outcome(certain))["test"]
    assert test["value"] == test["high"] == 1.0
    assert test["low"] == pytest.approx(0.025 ** (1 / 200))


def test_streams_that_occur_in_training_are_counted_apart():
    split = xor_split(size=400, test_size=200)
    seen = occurs(split.train, split.test)
    by_hand = [
        any(
            len_known == len_asked and torch.equal(known[:len_known], asked[:len_asked])
            for known, len_known in zip(_rows(split.train), split.train.lengths, strict=True)
        )
        for asked, len_asked in zip(_rows(split.test), split.test.lengths, strict=True)
    ]
    assert seen.tolist() == by_hand
    assert 0 < seen.sum() < len(seen)
    right = np.eye(2)[split.test.y.numpy()]
    wrong_where_seen = np.where(seen[:, None], 1 - right, right)
    figures = reported(EXPERIMENTS["xor"].task, split, outcome(wrong_where_seen))
    assert figures["test_unseen"]["value"] == 1.0
    assert figures["test_unseen"]["share_seen"] == pytest.approx(seen.mean())
    assert figures["test"]["value"] == pytest.approx(1 - seen.mean())


def _rows(part):
    return torch.cat([part.x, part.dt.unsqueeze(-1)], dim=-1)
