"""What is left of a change of the first state, measured as it would be by hand."""

import dataclasses

import pytest
import torch

from liquidtime.paper.datasets import recall_split
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.fitting import Trial
from liquidtime.paper.models import gradients

EXPERIMENT = EXPERIMENTS["gradients"]


def trial(folder, delay=10):
    split = recall_split(delay=delay, size=80, test_size=40)
    return Trial(task=EXPERIMENT.task, split=split, honest=True, seed=0, folder=folder, progress=False)


@pytest.mark.parametrize("name", ["cfc", "mm_rnn_hidden", "ltc", "lstm"])
def test_the_norm_is_that_of_the_whole_jacobian(name, tmp_path):
    row = EXPERIMENT.rows[f"{name}_10"]
    network = row.model.base.network(trial(tmp_path), dataclasses.replace(row.settings, hidden_size=5))
    ours = gradients.state_jacobian(network, 3, 0.7)
    x = 0.3 * torch.randn(gradients.ROWS, 3, 1, generator=torch.Generator().manual_seed(3))
    recurrent = network.recurrent
    total, width = 0.0, 0
    for row_of_x in x:

        def run(flat, row_of_x=row_of_x):
            parts = flat.split(5)
            if name == "lstm":
                _, last = recurrent.network(row_of_x[None], tuple(part.reshape(1, 1, 5) for part in parts))
                return torch.cat([part.flatten() for part in last])
            cell = recurrent.cells[0]
            state = tuple(part[None] for part in parts)
            for sample in row_of_x:
                _, state = cell(sample[None], state, torch.tensor([0.7]))
            return torch.cat([part.flatten() for part in state])

        width = 10 if name in ("lstm", "mm_rnn_hidden") else 5
        jacobian = torch.autograd.functional.jacobian(run, torch.zeros(width))
        total += float(jacobian.square().sum())
    assert ours == pytest.approx((total / (len(x) * width)) ** 0.5, rel=1e-4)


def test_both_tables_are_of_the_result(tmp_path):
    row = EXPERIMENT.rows["cfc_10"]
    settings = dataclasses.replace(row.settings, epochs=1, hidden_size=4, backbone_units=4)
    outcome = row.model.fit(trial(tmp_path), settings)
    before, after = outcome.figures["jacobian_before"], outcome.figures["jacobian_after"]
    assert before.keys() == after.keys() == {"0.1", "1", "10"}
    assert before != after
    assert set(before["1"]) == {"1", "10", "40", "160"}


def test_the_label_is_the_sign_of_the_first_sample():
    split = recall_split(delay=7, size=50, test_size=20)
    for part in split.parts().values():
        assert part.x.shape[1] == 8
        assert torch.equal(part.y, (part.x[:, 0, 0] > 0).long())
        assert (part.x[:, 0].abs() == 1).all()
    assert not set(split.train.ids.tolist()) & set(split.test.ids.tolist())
