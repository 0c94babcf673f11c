"""The experiments: the test part chooses nothing, and a seed, a class weight and a unit of time are what they say."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.lane_keeping import LANE_KEEPING, ROWS, SETTINGS
from liquidtime.paper.fitting import Trial
from liquidtime.paper.models.lane import head
from liquidtime.paper.models.lane.head import _LAST
from paper.small_runs import cheap, shrink_head, shrink_xor, small_run, written

_COUNT = itertools.count()


@pytest.fixture
def root(tmp_path_factory):
    return written(tmp_path_factory.getbasetemp() / "data")


def poisoned(part, factor):
    """A part with other inputs and other targets, of the same shapes."""
    x = part.x.flip(-1) if not part.x.is_floating_point() else factor * part.x + factor
    y = part.y.roll(1, 0) if not part.y.is_floating_point() else factor * part.y - 7
    return dataclasses.replace(part, x=x, y=y)


def fitted(run, row, settings, **parts):
    split = dataclasses.replace(run.split, **parts)
    folder = run.folder / str(next(_COUNT))  # one that was used before would be resumed
    return row.model.fit(dataclasses.replace(run, split=split, folder=folder), settings)


@pytest.mark.parametrize(
    ("name", "row"), [("walker2d", "cfc"), ("physionet", "gru_d"), ("physionet", "rnn_impute"), ("physionet", "ip_net")]
)
def test_a_poisoned_test_part_changes_nothing_but_the_test(name, row, root, tmp_path):
    experiment = EXPERIMENTS[name]
    row, run = experiment.rows[row], small_run(experiment, root, tmp_path / "run")
    settings = dataclasses.replace(cheap(row.settings), epochs=2)
    outcomes = [fitted(run, row, settings, test=part) for part in (run.split.test, poisoned(run.split.test, 1e3))]
    assert without_clock(outcomes[0]) == without_clock(outcomes[1])
    assert outcomes[0].best_epoch == outcomes[1].best_epoch
    networks = [
        row.model.network(dataclasses.replace(run, split=dataclasses.replace(run.split, test=part)), settings)
        for part in (run.split.test, poisoned(run.split.test, 1e3))
    ]
    for (key, mine), its in zip(networks[0].state_dict().items(), networks[1].state_dict().values(), strict=True):
        assert torch.equal(mine, its), key
    held = fitted(run, row, settings, validation=poisoned(run.split.validation, 1e3))
    assert [record["loss"] for record in held.history] == [record["loss"] for record in outcomes[0].history]
    assert without_clock(held) != without_clock(outcomes[0])


def without_clock(outcome):
    return [{key: value for key, value in record.items() if key != "seconds"} for record in outcome.history]


@pytest.mark.parametrize("row", ["gru_d", "rnn_impute"])
def test_what_is_not_observed_is_the_mean_of_the_training_part(row, root, tmp_path):
    experiment = EXPERIMENTS["physionet"]
    run = small_run(experiment, root, tmp_path)
    row = experiment.rows[row]
    cell = row.model.network(run, cheap(row.settings)).recurrent.cells[0]
    part = run.split.train
    inside = torch.arange(part.dt.shape[1]) < part.lengths.unsqueeze(1)
    C = part.x.shape[2] // 2
    seen = (part.x[..., C:] > 0) & inside.unsqueeze(-1)
    mean = part.x[..., :C].where(seen, 0.0).sum((0, 1)) / seen.sum((0, 1)).clamp(min=1)
    torch.testing.assert_close(cell.imputed.mean.float(), mean.float(), rtol=1e-4, atol=1e-5)


def test_the_seed_of_a_run_draws_its_weights(root, tmp_path, monkeypatch):
    shrink_xor(monkeypatch)
    experiment = EXPERIMENTS["xor"]
    row = experiment.rows["cfc"]
    first, again, other = (
        torch.cat([p.flatten() for p in row.model.network(run, cheap(row.settings)).parameters()])
        for run in (small_run(experiment, None, tmp_path, seed=seed) for seed in (1, 1, 2))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    drivers = [ROWS["cfc"].model.driver(SETTINGS, seed).state_dict() for seed in (1, 1, 2)]
    assert all(torch.equal(value, drivers[1][key]) for key, value in drivers[0].items())
    assert any(not torch.equal(value, drivers[2][key]) for key, value in drivers[0].items())


def test_the_class_weight_is_that_of_class_1(root, tmp_path):
    task, part = EXPERIMENTS["physionet"].task, small_run(EXPERIMENTS["physionet"], root, tmp_path).split.train
    batch = dataclasses.replace(part.take(torch.arange(2)), y=torch.tensor([0, 1]))
    logits = torch.tensor([[0.0, 0.3], [0.0, 0.3]])
    loss = task.loss(logits, batch, 9.0)
    of_0, of_1 = np.log1p(np.exp(0.3)), np.log1p(np.exp(-0.3))
    assert float(loss.total / loss.weight) == pytest.approx((of_0 + 9 * of_1) / 10, rel=1e-5)


def test_the_unit_of_time_of_the_settings_is_that_of_the_network(tmp_path, monkeypatch):
    shrink_xor(monkeypatch)
    experiment = EXPERIMENTS["xor"]
    row, run = experiment.rows["cfc"], small_run(experiment, None, tmp_path)
    settings = dataclasses.replace(cheap(row.settings), time_scale=None)
    plain, scaled = (
        row.model.network(run, dataclasses.replace(settings, time_scale=scale)).eval() for scale in (None, 8.0)
    )
    batch = run.split.train.take(torch.arange(4))
    with torch.no_grad():
        wanted = plain(dataclasses.replace(batch, dt=8.0 * batch.dt))
        torch.testing.assert_close(scaled(batch), wanted)
        assert not torch.allclose(plain(batch), wanted, atol=1e-4)


def test_the_epochs_of_head_and_driver_are_chosen_on_the_validation_run(root, tmp_path, monkeypatch):
    """And the features are centred by the training part alone."""
    shrink_head(monkeypatch)
    split = LANE_KEEPING.load(root, window=4)
    judged, real = [], head.frame_error
    monkeypatch.setattr(head, "frame_error", lambda model, part: judged.append(part) or real(model, part))
    run = Trial(task=LANE_KEEPING.task, split=split, honest=True, seed=0, folder=tmp_path / "run", progress=False)
    settings = dataclasses.replace(ROWS["cfc_centred"].settings, epochs=2)
    _LAST.clear()
    whole = fitted(run, ROWS["cfc_centred"], settings)
    assert judged
    assert all(part is split.validation for part in judged)
    test = fitted(run, ROWS["cfc_centred"], settings, test=poisoned(split.test, 3.0))
    assert without_clock(test) == without_clock(whole)
    _LAST.clear()
    monkeypatch.setattr(head, "frame_error", lambda model, part: 0.0)  # the same head whatever the validation run is
    steering = dataclasses.replace(split.validation, y=3.0 * split.validation.y - 7)
    one, other = (fitted(run, ROWS["cfc_centred"], settings, validation=part) for part in (split.validation, steering))
    assert [record["loss"] for record in one.history] == [record["loss"] for record in other.history]
    assert all(mine["val_mse"] != its["val_mse"] for mine, its in zip(one.history, other.history, strict=True))
